internal import PushTransport

extension Configuration {
    /// The keys that are no provider's, without those in front of the apps' in the reference.
    static let keysBehindApps: [ConfigurationKey] = sending + keeping + Feedback.keys + answering + logging

    private static let name = ConfigurationValueKind<String>.text(
        "1 to 64 letters, digits, dots, dashes and underscores",
        length: 1...64
    ) { $0.isASCII && ($0.isLetter || $0.isNumber || "._-".contains($0)) }

    private static let file = ConfigurationValueKind<String>.path

    /// The keys in front of the apps' in the reference.
    static let keysBeforeApps: [ConfigurationKey] = [
        .init(
            "installation",
            \.installation,
            name.optional,
            change: .restart,
            "Name of this installation; must be the one that the database was adopted as. Give a staging copy another."
        ),
        .init(
            "database.url",
            \.database.url,
            .databaseURL,
            presence: .required,
            change: .restart,
            "Database to work on, as libpq understands it. Also from `DATABASE_URL`. A password in it works but is "
                + "warned about."
        ),
        .init(
            "database.password_file",
            \.database.passwordFile,
            file.optional,
            change: .restart,
            "File that holds the password and nothing else, read at each connect."
        ),
        .init(
            "database.connections",
            \.database.connections,
            .integer(WorkSessions.least...16),
            change: .restart,
            "Connections for work: one each to record, claim and plan, and one that walks large audiences and does "
                + "maintenance by turns. A fifth is maintenance's own, and each further one walks large audiences too. "
                + "Control and the scheduler come on top, and with `listen` one more."
        ),
        .init(
            "listen",
            \.listen,
            .names("a NOTIFY channel of 1 to 63 bytes", bytes: 1...63),
            change: .restart,
            "Existing NOTIFY channels whose JSON payloads become events, best effort. In the environment: separated "
                + "by commas."
        ),
    ]

    private static let sending: [ConfigurationKey] = [
        .init(
            "send.threads",
            \.send.threads,
            .integer(1...64),
            change: .restart,
            "Sender threads at most, for each app, provider and environment."
        ),
        .init(
            "send.connections",
            \.send.connections,
            .integer(1...64),
            change: .restart,
            "Connections per credential, spread over the threads."
        ),
        .init(
            "send.streams",
            \.send.streams,
            .integer(1...10_000),
            change: .restart,
            "Requests at once on one connection; the server may allow fewer."
        ),
        .init(
            "send.batch",
            \.send.batch,
            .integer(1...1_000),
            change: .restart,
            "Deliveries claimed and recorded together."
        ),
        .init(
            "send.unrecorded",
            \.send.unrecorded,
            .integer(64...65_536),
            change: .restart,
            "Requests in flight, or answered and not yet recorded: at most so many are repeated after a crash."
        ),
        .init(
            "send.transport",
            \.send.transport,
            .choice,
            change: .restart,
            "What carries requests to APNs and FCM: `engine` is nghttp2, which takes a sixth of the CPU and knows "
                + "the fate of each request exactly; `curl` is libcurl, which Web Push always goes through."
        ),
        .init(
            "send.proxy",
            \.send.proxy,
            ConfigurationValueKind<HTTPProxy>.proxy.optional,
            change: .restart,
            "HTTP proxy for APNs, FCM and Google's token endpoint, which makes tunnels by CONNECT; `curl` carries them "
                + "then, whatever `send.transport` says. Web Push connects directly. Variables such as `https_proxy` "
                + "do not count."
        ),
        .init(
            "retry.attempts",
            \.retry.attempts,
            .integer(1...100),
            change: .reload,
            """
            Attempts per device and event that a provider answered or may have had, the first one included. Free are those \
            that it did not process or that were never sent, waits that it or a refused credential imposes, and the first in \
            the other APNs environment; these end with the `ttl`, or after 24 h.
            """
        ),
    ]

    private static let keeping: [ConfigurationKey] = [
        .init(
            "retention.keys",
            \.retention.keys,
            .duration(.seconds(60)...(.seconds(365 * 86_400))),
            change: .reload,
            "How long a second event with the same type and key counts as a duplicate."
        ),
        .init(
            "retention.log",
            \.retention.log,
            .duration(.seconds(86_400)...(.seconds(30 * 86_400)), step: .seconds(86_400)),
            change: .reload,
            "How long events, batches and outcomes can be looked up."
        ),
    ]

    private static let answering: [ConfigurationKey] = [
        .init(
            "api.listen",
            \.api.listen,
            ConfigurationValueKind<ListenAddress>.listenAddress.optional,
            change: .restart,
            "The address of the HTTP API, which is off unless it is set. Without a host it is 127.0.0.1, so that no other host "
                + "can connect."
        ),
        .init(
            "api.health_listen",
            \.api.healthListen,
            ConfigurationValueKind<ListenAddress>.listenAddress.optional,
            change: .restart,
            "A second address for `/livez`, `/readyz` and `/metrics`, without TLS. Let probes ask it: it answers when `api.listen` has no "
                + "connection left. It has 64 connections and up to two database sessions of its own."
        ),
        .init(
            "api.certificate_file",
            \.api.certificateFile,
            file.optional,
            change: .restart,
            "PEM file with the certificate to answer by TLS with, and those between it and its CA. It and its key are read again when "
                + "they change."
        ),
        .init(
            "api.key_file",
            \.api.keyFile,
            file.optional,
            change: .restart,
            "PEM file with the private key of `api.certificate_file`."
        ),
        .init(
            "api.connections",
            \.api.connections,
            .integer(1...100_000),
            change: .restart,
            "Connections from clients at once. One more ends the one without a token that has asked nothing for longest; where all have "
                + "tokens, it waits."
        ),
        .init(
            "api.sessions",
            \.api.sessions,
            .integer(1...64),
            change: .restart,
            "Database sessions for HTTP requests, beside those of `database.connections`; opened when they are "
                + "needed. One more authenticates requests, and one more follows the logs for their readers."
        ),
        .init(
            "api.rate",
            \.api.rate,
            .integer(1...1_000_000),
            change: .restart,
            "Requests a second, and as many at once, of a token that has no limit of its own; what is more is answered 429."
        ),
        .init(
            "api.phone_topics",
            \.api.phoneTopics,
            .names("a topic, or with `*` at the end all that begin so", bytes: 1...900),
            change: .reload,
            "What phones may subscribe to by their own tokens (`apps.<name>.jwt`). In the environment: separated by commas."
        ),
        .init(
            "api.base_path",
            \.api.basePath,
            .basePath,
            change: .restart,
            "The path below which a proxy serves API and console, such as `/fanfare`. Links, redirects and the cookie of the console begin "
                + "with it. The proxy may take it off or leave it on."
        ),
        .init(
            "api.console",
            \.api.console,
            .choices(),
            change: .restart,
            "What the console may do; `[read]` makes it read-only, and `[]` disables it. A token's scopes apply "
                + "as well."
        ),
    ]

    private static let logging: [ConfigurationKey] = [
        .init(
            "log.level",
            \.log.level,
            .choice,
            change: .reload,
            "Least severe level that is logged."
        ),
        .init(
            "log.format",
            \.log.format,
            .choice,
            change: .reload,
            "`json` for machines, one object per line; `text` for terminals."
        ),
        .init(
            "log.deliveries",
            \.log.deliveries,
            .choice,
            change: .reload,
            "Which outcomes of single devices get a line, at level `info`: with `failures` those of pushes that were tried and "
                + "not accepted, with `all` also accepted ones and what Fanfare decides by itself."
        ),
    ]
}
