internal import PushTransport

extension Configuration {
    /// The keys outside the providers' blocks that follow the apps in the reference.
    static let keysBehindApps: [ConfigurationKey] = sending + keeping + Feedback.keys + answering + logging

    private static let name = ConfigurationValueKind<String>.text(
        "1 to 64 letters, digits, dots, dashes and underscores",
        length: 1...64
    ) { $0.isASCII && ($0.isLetter || $0.isNumber || "._-".contains($0)) }

    private static let file = ConfigurationValueKind<String>.path

    /// The keys that precede the apps in the reference.
    static let keysBeforeApps: [ConfigurationKey] = [
        .init(
            "installation",
            \.installation,
            name.optional,
            change: .restart,
            "Name of this installation. It must be the name under which the database was adopted. Give a staging "
                + "copy another name."
        ),
        .init(
            "database.url",
            \.database.url,
            .databaseURL,
            presence: .required,
            change: .restart,
            "Database to work on, as a connection string of libpq. `DATABASE_URL` sets it too. A password in it "
                + "works, but causes a warning."
        ),
        .init(
            "database.password_file",
            \.database.passwordFile,
            file.optional,
            change: .restart,
            "File that contains the password and nothing else, read at each connect."
        ),
        .init(
            "database.connections",
            \.database.connections,
            .integer(WorkSessions.least...16),
            change: .restart,
            "Connections for work. Recording, claiming and planning use one each. The fourth alternates between "
                + "expanding large audiences and maintenance. If there are more, the fifth is for maintenance alone, "
                + "and each further one expands large audiences too. In addition to this number, control, the "
                + "scheduler and `listen` use one connection each."
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
            "Maximum number of sender threads for each app, provider and environment."
        ),
        .init(
            "send.connections",
            \.send.connections,
            .integer(1...64),
            change: .restart,
            "Number of connections per credential; they are spread over the threads."
        ),
        .init(
            "send.streams",
            \.send.streams,
            .integer(1...10_000),
            change: .restart,
            "Concurrent requests on one connection; the server may allow fewer."
        ),
        .init(
            "send.batch",
            \.send.batch,
            .integer(1...1_000),
            change: .restart,
            "Maximum number of deliveries that are claimed and recorded together."
        ),
        .init(
            "send.unrecorded",
            \.send.unrecorded,
            .integer(64...65_536),
            change: .restart,
            "In-flight budget: maximum number of requests without a recorded outcome, whether still in flight or "
                + "already answered. After a crash at most this many requests are repeated."
        ),
        .init(
            "send.proxy",
            \.send.proxy,
            ConfigurationValueKind<HTTPProxy>.proxy.optional,
            change: .restart,
            "HTTP proxy for APNs, FCM and Google's token endpoint, as in `http://USER@HOST:PORT` if it requires a "
                + "user. It must support CONNECT. Web Push and webhooks connect directly. Environment variables such "
                + "as `https_proxy` are ignored."
        ),
        .init(
            "send.proxy_password_file",
            \.send.proxyPasswordFile,
            file.optional,
            change: .restart,
            "File that contains the password of the user in `send.proxy` and nothing else, read at each connect. The "
                + "password is sent as Basic authentication."
        ),
        .init(
            "retry.attempts",
            \.retry.attempts,
            .integer(1...100),
            change: .reload,
            "Maximum number of attempts per device and event, including the first one. An attempt counts if the "
                + "provider answered it or may have received it. These do not count: attempts that were never sent; "
                + "attempts that the provider did not process; waits that the provider or a refused credential "
                + "imposes; the first attempt in the other APNs environment. They are limited only by the `ttl`, or "
                + "by 24 h if there is no `ttl`."
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
            "How long events, batches and outcomes are kept."
        ),
        .init(
            "retention.reports",
            \.retention.reports,
            .duration(.seconds(86_400)...(.seconds(30 * 86_400)), step: .seconds(86_400)),
            change: .reload,
            "How long the actions that users chose on notifications, and the texts that they typed, are kept; at most as long as `retention.log`."
        ),
    ]

    private static let answering: [ConfigurationKey] = [
        .init(
            "api.listen",
            \.api.listen,
            ConfigurationValueKind<ListenAddress>.listenAddress.optional,
            change: .restart,
            "The address of the HTTP API. Without this key the API is off. The default host is 127.0.0.1, so that no "
                + "other host can connect."
        ),
        .init(
            "api.health_listen",
            \.api.healthListen,
            ConfigurationValueKind<ListenAddress>.listenAddress.optional,
            change: .restart,
            "A second address for `/livez`, `/readyz` and `/metrics`, without TLS. Use it for probes: it responds "
                + "even if all connections of `api.listen` are in use. It has 64 connections and up to two database "
                + "sessions of its own."
        ),
        .init(
            "api.certificate_file",
            \.api.certificateFile,
            file.optional,
            change: .restart,
            "PEM file with the TLS certificate of the API and its intermediate certificates. The certificate and its "
                + "key are read again when they change."
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
            "Maximum number of concurrent client connections. At this limit each new connection replaces the "
                + "connection that has been idle longest among those without a token. If all connections have "
                + "tokens, the new connection waits."
        ),
        .init(
            "api.sessions",
            \.api.sessions,
            .integer(1...64),
            change: .restart,
            "Database sessions for HTTP requests, in addition to `database.connections`. They are opened when they "
                + "are needed. Two further sessions authenticate requests and read the logs for clients that follow "
                + "them."
        ),
        .init(
            "api.rate",
            \.api.rate,
            .integer(1...1_000_000),
            change: .restart,
            "Requests per second with a token that has no limit of its own. A burst may have the same number of "
                + "requests. Further requests get 429."
        ),
        .init(
            "api.phone_topics",
            \.api.phoneTopics,
            .names("a topic, or a beginning and `*` for all topics with this beginning", bytes: 1...900),
            change: .reload,
            "Topics that phones may subscribe to with their own tokens (`apps.<name>.jwt`). In the environment: "
                + "separated by commas."
        ),
        .init(
            "api.origins",
            \.api.origins,
            .origins,
            change: .reload,
            "Origins whose pages may send the requests of phones, and reports, from a browser. The daemon compares "
                + "the whole origin. In the environment: separated by commas."
        ),
        .init(
            "api.base_path",
            \.api.basePath,
            .basePath,
            change: .restart,
            "The path below which a proxy serves the API and the console, such as `/fanfare`. Links, redirects and "
                + "the path of the console's cookie begin with this path. The proxy may remove the path from "
                + "requests or pass it on."
        ),
        .init(
            "api.console",
            \.api.console,
            .choices(),
            change: .restart,
            "Actions that the console allows. `[read]` makes it read-only, and `[]` disables it. A token's scopes "
                + "apply as well."
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
            "Which outcomes of single deliveries are logged, at level `info`. `failures` logs pushes that were tried "
                + "and not accepted. `all` also logs accepted pushes, and pushes that Fanfare ended without sending a "
                + "request to a provider."
        ),
    ]
}
