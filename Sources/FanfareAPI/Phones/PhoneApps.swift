internal import FanfareConfiguration
internal import FanfareDaemon
internal import FanfareHTTP
internal import FanfareLogging
internal import FanfareTools
internal import HTTPTypes
internal import Logging
internal import Threading

/// The apps that accept phone tokens, by the current configuration.
final class PhoneApps: Sendable {
    private let daemon: ListenedDaemon
    private let times: ListenerTimes
    private let apps = Locked<[String: AppPhones]>([:])

    /// Creates the table without reading any keys.
    ///
    /// - Parameters:
    ///   - daemon: provides the configuration.
    ///   - times: the file check interval and the clock.
    init(_ daemon: ListenedDaemon, times: ListenerTimes) {
        (self.daemon, self.times) = (daemon, times)
    }

    /// Reads the keys of all apps.
    ///
    /// - Throws: ``ToolError`` of kind `configuration` for the first file that cannot be used.
    func read() throws(ToolError) {
        for (name, app) in daemon.configuration().apps.sorted(by: { $0.key < $1.key }) {
            guard app.phones.keysFile != nil else { continue }
            try phones(name, app.phones).keys.readNow()
        }
    }

    /// Checks a phone token and the rate limits.
    ///
    /// - Parameters:
    ///   - text: the bearer token.
    ///   - app: the app that the token must be for.
    /// - Returns: the user.
    /// - Throws: a ``Problem`` if the token is not accepted or a rate limit is exceeded.
    func user(_ text: String, of app: String) throws -> PhoneUser {
        let configuration = daemon.configuration()
        guard let settings = configuration.apps[app]?.phones, settings.keysFile != nil else {
            throw Self.refusal("phones' tokens are not accepted for this app", hint: "Set apps.<name>.jwt.jwks_file.")
        }
        let phones = phones(app, settings)
        guard let keys = phones.keys.value else {
            throw Problem(.unavailable, "the app's keys cannot be read", hint: "See the daemon's log.")
        }
        let subject: String
        do throws(PhoneToken.Fault) {
            let token = PhoneToken(audience: app, issuer: settings.issuer)
            subject = try token.subject(of: text, by: keys, now: times.now())
        } catch {
            throw Self.refusal("the token \(error.reason)", hint: "Have the app's backend sign another.")
        }
        // The user's limit comes first, so that one user alone cannot use up the app's.
        guard phones.users.take(subject), phones.all.take() else {
            throw Problem(.tooMany, "rate limit exceeded", hint: "Wait as Retry-After says.", retryAfter: 1)
        }
        return PhoneUser(id: subject, topics: configuration.api.phoneTopics)
    }

    private func phones(_ app: String, _ settings: Configuration.Phones) -> AppPhones {
        apps.withLock { apps in
            if let phones = apps[app], phones.settings == settings { return phones }
            // If a reload names a file that cannot be read, the previous keys stay in force.
            let phones = AppPhones(
                app,
                settings,
                keys: Reread(
                    [settings.keysFile ?? ""],
                    every: times.reread,
                    before: apps[app]?.keys.kept,
                    read: { [daemon] () throws(ToolError) in
                        try PhoneKeysFile.read(settings, app: app, environment: daemon.environment)
                    },
                    told: { [daemon] in Self.log($0, app: app, daemon.logger) }
                )
            )
            apps[app] = phones
            return phones
        }
    }

    private static func log(_ error: ToolError?, app: String, _ logger: Logger) {
        guard let error else {
            logger.notice("JWT keys reloaded", metadata: .init([.app: "\(app)"]))
            return
        }
        logger.error(
            "JWT keys not reloaded; the previous ones stay in force",
            metadata: .init([.app: "\(app)", .error: "\(error.reason)", .hint: "\(error.hint)"])
        )
    }

    private static func refusal(_ detail: String, hint: String) -> Problem {
        var problem = Problem(.unauthorized, detail, hint: hint)
        problem.headers[.wwwAuthenticate] = "Bearer realm=\"fanfare\", error=\"invalid_token\""
        return problem
    }
}

/// The keys and budgets of one app under one version of its settings.
private final class AppPhones: Sendable {
    let settings: Configuration.Phones
    let keys: Reread<PhoneKeySet>
    let users: UserBudgets
    let all: RequestBudget

    init(_ app: String, _ settings: Configuration.Phones, keys: Reread<PhoneKeySet>) {
        (self.settings, self.keys) = (settings, keys)
        (users, all) = (UserBudgets(settings.userRate), RequestBudget(settings.rate))
    }
}
