internal import FanfareConfiguration
internal import FanfareConsoleView
internal import FanfareCore
internal import FanfareDaemon
internal import FanfareHTTP
internal import FanfareRecords
internal import FanfareTools
internal import PostgresClient

extension ConsolePage {
    /// The page of providers.
    static let providers = ConsolePage(
        "/providers",
        "providers",
        parts: [
            "live-providers": "provider-cards", "live-charts": "provider-charts", "live-reasons": "provider-reasons",
        ]
    ) { visit in
        let app = visit.filter("app")
        let window = ConsoleQueries.Window(span: visit.span, app: app)
        let queries = visit.queries
        let digest = try await queries.answers.value(for: window) { [database = visit.database, now = visit.now] in
            try await ProviderDigest(window, in: database, at: now)
        }
        let daemon = visit.call.context.daemon
        let credentials = try await queries.credentials.value(for: 0) { [now = visit.now] in
            daemon.configuration().credentialExpiries(environment: daemon.environment, now: now / 1_000_000)
        }
        let configured = daemon.configuration().apps.flatMap { app, settings in
            settings.providers.keys.map { ProviderKey(app: app, provider: $0, environment: "production") }
        }
        let reported = ProviderKey.reported(visit.status.daemons) + ProviderKey.unserved(visit.status.daemons)
        let keys = Set(digest.all.keys).union(reported).union(configured)
        return ProvidersPage(
            frame: visit.frame("Providers"),
            filter: FilterForm(visit, [.chosen("app", "App", try await visit.apps(), visit), .span(visit)]),
            providers: keys.filter { app == nil || $0.app == app }.sorted().map { key in
                ProviderCard(
                    key,
                    digest,
                    visit.span,
                    visit.status.daemons,
                    credentials.filter { $0.app == key.app && $0.provider == key.provider },
                    at: visit.now
                )
            },
            answers: digest.answers,
            latency: digest.latency,
            reasons: digest.reasons
        )
    }
}

/// `/providers`: the providers that pushes go through.
struct ProvidersPage: ViewContext {
    let frame: Frame
    let filter: FilterForm
    let providers: [ProviderCard]
    let answers: ChartFigure
    let latency: ChartFigure
    let reasons: [OutcomeLine]
}

extension ProviderKey {
    /// Returns the providers that running daemons have no credentials for.
    fileprivate static func unserved(_ daemons: [DaemonRow]) -> [ProviderKey] {
        daemons.filter(\.isAlive).flatMap { daemon in
            (daemon.report["unserved"]?.arrayValue ?? []).compactMap { name in
                let parts = (name.stringValue ?? "").split(separator: "/").map(String.init)
                return parts.count == 2
                    ? ProviderKey(app: parts[0], provider: parts[1], environment: "production") : nil
            }
        }
    }

    /// Returns the providers that running daemons report.
    fileprivate static func reported(_ daemons: [DaemonRow]) -> [ProviderKey] {
        daemons.filter(\.isAlive).flatMap { daemon in
            (daemon.report["breakers"]?.objectValue?.members ?? []).compactMap { member in
                let parts = member.key.split(separator: "/").map(String.init)
                return parts.count == 3 ? ProviderKey(app: parts[0], provider: parts[1], environment: parts[2]) : nil
            }
        }
    }
}
