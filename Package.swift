// swift-tools-version: 6.2
import Foundation
import PackageDescription

// The part to build: `sanitized` for the sanitizers' tests, `fuzz` for the fuzzer, `docs` for the articles; everything if FANFARE_BUILD is
// not set. SwiftNIO takes most of the time of a full build, so the parts omit it: their tests run the sandbox as a separate process.
let part = ProcessInfo.processInfo.environment["FANFARE_BUILD"]

let shared: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),  // SE-0335
    .enableUpcomingFeature("MemberImportVisibility"),  // SE-0444
    .enableUpcomingFeature("InternalImportsByDefault"),  // SE-0409
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),  // SE-0461
    .treatAllWarnings(as: .error),
]
let sources: [SwiftSetting] =
    shared + [
        .strictMemorySafety(),  // SE-0458
        // A push passes through six targets; without this flag, calls between them are indirect.
        .unsafeFlags(["-cross-module-optimization"], .when(configuration: .release)),
    ]

let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let metrics = Target.Dependency.product(name: "CoreMetrics", package: "swift-metrics")
let serviceLifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let processes: [Package.Dependency] = [
    .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2"),
    .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
]
let subprocess: [Target.Dependency] = [
    .product(name: "Subprocess", package: "swift-subprocess"),
    .product(name: "SystemPackage", package: "swift-system"),
]
let unixSignals = Target.Dependency.product(name: "UnixSignals", package: "swift-service-lifecycle")

// The dependencies of tests of stages and daemons.
let stages: [Target.Dependency] = [
    "FanfareCampaigns", "FanfareConfiguration", "FanfareCore", "FanfareDaemon", "FanfareExplain", "FanfareFeedback",
    "FanfareLogging", "FanfareMetrics", "FanfareMoving", "FanfareProviders", "FanfareSending", "FanfareService",
    "FanfareStages", "FanfareStore", "FanfareTools", "PayloadFixtures", "PostgresClient", "PrivateCluster", "Programs",
    "PushCrypto", "PushTransport", "TestKit", "Threading", logging, metrics, serviceLifecycle, unixSignals,
]

/// Returns a test target for stages and daemons.
func stageTests(_ name: String, _ also: [Target.Dependency] = [], exclude: [String] = []) -> Target {
    .testTarget(name: name, dependencies: stages + ["DaemonKit"] + also, exclude: exclude, swiftSettings: shared)
}

let package = Package(
    name: "fanfare",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(url: "https://github.com/hummingbird-project/swift-mustache", from: "2.1.1"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
    ] + processes,
    targets: [
        // The targets that every target may use.
        .systemLibrary(name: "CEventFD"),
        .target(name: "Threading", dependencies: ["CEventFD"], swiftSettings: sources),

        // Pure values: rules, content, outcomes, policies.
        .target(
            name: "FanfareCore",
            dependencies: [.product(name: "Mustache", package: "swift-mustache")],
            swiftSettings: sources
        ),

        // One system library each, imported by one Swift target each.
        .systemLibrary(name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .target(
            name: "PostgresClient",
            dependencies: ["CPostgres", "Threading"],
            swiftSettings: sources
        ),
        .target(name: "PushTransport", dependencies: ["Threading"], swiftSettings: sources),
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .target(name: "HTTP2Client", dependencies: ["CCurl", "PushTransport", "Threading"], swiftSettings: sources),
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .target(name: "PushCrypto", dependencies: ["COpenSSL", "Threading"], swiftSettings: sources),
        .target(name: "SandboxCrypto", dependencies: ["COpenSSL"], swiftSettings: sources),
        .systemLibrary(name: "CNGHTTP2", pkgConfig: "libnghttp2", providers: [.apt(["libnghttp2-dev"])]),
        .target(
            name: "HTTP2Engine",
            dependencies: ["CNGHTTP2", "COpenSSL", "PushTransport", "Threading"],
            swiftSettings: sources
        ),

        // Parses files that people write: the configuration, and files of rules. Independent of providers.
        .target(
            name: "FanfareConfiguration",
            dependencies: ["FanfareCore", "PushTransport", logging, "Yams"],
            swiftSettings: sources
        ),

        // Log lines: their keys, formats and destinations.
        .target(
            name: "FanfareLogging",
            dependencies: ["FanfareConfiguration", "FanfareCore", "Threading", logging],
            swiftSettings: sources
        ),

        // Counters and gauges of the process, as a backend of swift-metrics.
        .target(name: "FanfareMetrics", dependencies: ["Threading", metrics], swiftSettings: sources),

        // The schema as text.
        .target(name: "CSchema", exclude: ["schema.sql"]),
        .target(name: "FanfareSchema", dependencies: ["CSchema"], swiftSettings: sources),

        // The SQL of the daemon: statements, their parameters and their rows.
        .target(
            name: "FanfareStore",
            dependencies: ["FanfareCore", "FanfareSchema", "PostgresClient"],
            swiftSettings: sources
        ),

        // The SQL of the operators' commands, the API and the console.
        .target(
            name: "FanfareRecords",
            dependencies: ["FanfareCore", "FanfareStore", "PostgresClient"],
            swiftSettings: sources
        ),

        // APNs, FCM, Web Push and webhooks: a folder and a descriptor for each.
        .target(
            name: "FanfareProviders",
            dependencies: [
                "FanfareConfiguration", "FanfareCore", "FanfareLogging", "HTTP2Client", "HTTP2Engine", "PushCrypto",
                "PushTransport", "Threading", logging,
            ],
            swiftSettings: sources
        ),

        // The shared parts of the daemon's stages: sessions, the lease, snapshots and wake-ups.
        .target(
            name: "FanfareStages",
            dependencies: [
                "FanfareConfiguration", "FanfareCore", "FanfareLogging", "FanfareMetrics", "FanfareProviders",
                "FanfareStore", "PostgresClient", "Threading", logging, metrics,
            ],
            swiftSettings: sources
        ),

        // Campaigns, which are rules with a schedule: their due times and their runs.
        .target(
            name: "FanfareCampaigns",
            dependencies: [
                "FanfareCore", "FanfareLogging", "FanfareProviders", "FanfareStages", "FanfareStore", "PostgresClient",
                "Threading", logging,
            ],
            swiftSettings: sources
        ),

        // The feedback webhooks, which report outcomes to applications.
        .target(
            name: "FanfareFeedback",
            dependencies: [
                "FanfareConfiguration", "FanfareCore", "FanfareLogging", "FanfareProviders", "FanfareStages",
                "FanfareStore", "HTTP2Client", "PostgresClient", "PushCrypto", "PushTransport", "Threading", logging,
            ],
            swiftSettings: sources
        ),

        // Prepared batches, the senders that send them, and the recorder of their outcomes.
        .target(
            name: "FanfareSending",
            dependencies: [
                "FanfareConfiguration", "FanfareCore", "FanfareLogging", "FanfareProviders", "FanfareStages",
                "FanfareStore", "PostgresClient", "PushCrypto", "PushTransport", "Threading", logging, metrics,
            ],
            swiftSettings: sources
        ),

        // The daemon.
        .target(
            name: "FanfareService",
            dependencies: [
                "FanfareCampaigns", "FanfareConfiguration", "FanfareCore", "FanfareFeedback", "FanfareLogging",
                "FanfareMetrics", "FanfareProviders", "FanfareSending", "FanfareStages", "FanfareStore", "HTTP2Client",
                "PostgresClient", "PushTransport", "Threading", logging, metrics, serviceLifecycle,
            ],
            swiftSettings: sources
        ),

        // The operators' commands.
        .target(
            name: "FanfareTools",
            dependencies: [
                "FanfareCampaigns", "FanfareConfiguration", "FanfareCore", "FanfareFeedback", "FanfareLogging",
                "FanfareProviders", "FanfareRecords", "FanfareService", "FanfareStages", "FanfareStore", "HTTP2Client",
                "PostgresClient", "PushCrypto", "PushTransport", "Threading", logging,
            ],
            swiftSettings: sources
        ),

        // What rules and campaigns would send, and why a user got nothing.
        .target(
            name: "FanfareExplain",
            dependencies: [
                "FanfareCampaigns", "FanfareConfiguration", "FanfareCore", "FanfareProviders", "FanfareRecords",
                "FanfareService", "FanfareStore", "FanfareTools", "PostgresClient", "PushTransport", "Threading",
            ],
            swiftSettings: sources
        ),

        // Import and export of devices.
        .target(
            name: "FanfareMoving",
            dependencies: [
                "FanfareConfiguration", "FanfareCore", "FanfareLogging", "FanfareProviders", "FanfareRecords",
                "FanfareStore", "FanfareTools", "PostgresClient", "PushCrypto",
            ],
            swiftSettings: sources
        ),

        // What the pages of the console read beyond the operators' commands: lists, searches, summaries.
        .target(
            name: "FanfareConsoleReads",
            dependencies: [
                "FanfareCampaigns", "FanfareConfiguration", "FanfareCore", "FanfareExplain", "FanfareProviders",
                "FanfareRecords", "FanfareStages", "FanfareStore", "FanfareTools", "PostgresClient", "Threading",
            ],
            swiftSettings: sources
        ),

        // What pages are written with: templates, escaped text, numbers, times and charts. Nothing of Fanfare's tables.
        .target(
            name: "FanfareConsoleView",
            dependencies: ["FanfareCore", .product(name: "Mustache", package: "swift-mustache")],
            swiftSettings: sources
        ),

        // The life of the daemon's process: start, signals, reload, drain.
        .target(
            name: "FanfareDaemon",
            dependencies: [
                "FanfareConfiguration", "FanfareCore", "FanfareLogging", "FanfareProviders", "FanfareService",
                "FanfareStages", "FanfareTools", "PostgresClient", "Threading", logging, metrics, serviceLifecycle,
                unixSignals,
            ],
            swiftSettings: sources
        ),

        // Child processes; not part of the daemon.
        .target(name: "Programs", dependencies: ["Threading"] + subprocess, swiftSettings: sources),

        // A private PostgreSQL server, for development and tests.
        .target(
            name: "PrivateCluster",
            dependencies: ["PostgresClient", "Programs", "Threading"] + subprocess,
            swiftSettings: sources
        ),

        // Tests.
        .target(
            name: "TestKit",
            dependencies: ["FanfareSchema", "PostgresClient", "PrivateCluster", "Programs", "Threading"],
            path: "Tests/TestKit",
            swiftSettings: shared
        ),
        // Messages as applications send them, which must arrive unchanged.
        .target(name: "PayloadFixtures", path: "Tests/PayloadFixtures", swiftSettings: shared),
        .testTarget(name: "ArchitectureTests", swiftSettings: shared),
        .testTarget(name: "ThreadingTests", dependencies: ["Threading"], swiftSettings: shared),
        .testTarget(name: "FanfareMetricsTests", dependencies: ["FanfareMetrics", metrics], swiftSettings: shared),
        .testTarget(
            name: "FanfareCoreTests",
            dependencies: ["FanfareCore"],
            swiftSettings: shared
        ),
        .testTarget(
            name: "FanfareProvidersTests",
            dependencies: ["FanfareCore", "FanfareProviders", "PayloadFixtures"],
            swiftSettings: shared
        ),
        .testTarget(
            name: "PostgresClientTests",
            dependencies: ["PostgresClient", "PrivateCluster", "Programs", "TestKit", "Threading"],
            swiftSettings: shared
        ),
        .testTarget(name: "PushCryptoTests", dependencies: ["PushCrypto", "TestKit"], swiftSettings: shared),
        .testTarget(
            name: "TransportTests",
            dependencies: [
                "HTTP2Client", "HTTP2Engine", "Programs", "PushCrypto", "PushTransport", "TestKit", "Threading",
            ],
            swiftSettings: shared
        ),
        .testTarget(
            name: "HTTP2EngineTests",
            dependencies: ["CNGHTTP2", "HTTP2Engine", "PushTransport", "Threading"],
            swiftSettings: shared
        ),
        // The built program as separate processes, with faults.
        .testTarget(
            name: "FaultTests",
            dependencies: ["FanfareStore", "PostgresClient", "PrivateCluster", "Programs", "TestKit", "Threading"],
            swiftSettings: shared
        ),
        // A database with an app, stages that run on demand, and whole daemons beside the sandbox, for the eight targets below. A test
        // target, because only test targets see internal declarations of others.
        .testTarget(name: "DaemonKit", dependencies: stages, path: "Tests/DaemonKit", swiftSettings: shared),
        stageTests("FanfareConfigurationTests"),
        stageTests("FanfareStoreTests", ["fanfare"]),
        stageTests("FanfareSendingTests"),
        stageTests("FanfareServiceTests"),
        // The tables of expected times are read from the source folder.
        stageTests("FanfareCampaignsTests", ["fanfare"], exclude: ["Schedule/Tables"]),
        stageTests("FanfareToolsTests", ["fanfare"]),
        stageTests("FanfareExplainTests", ["fanfare"]),
        // Daemons, the sandbox and the database together.
        stageTests("FlowTests"),
        // Whole daemons on a virtual clock, without threads, sockets or a database.
        .testTarget(
            name: "SimulatorTests",
            dependencies: [
                "FanfareConfiguration", "FanfareCore", "FanfareLogging", "FanfareProviders", "FanfareSending",
                "FanfareService", "FanfareStages", "FanfareStore", "PostgresClient", "PushTransport", "TestKit",
                "Threading", logging,
            ],
            swiftSettings: shared
        ),
    ]
)

/// Removes all targets except the named ones and their dependencies.
@MainActor func keep(_ names: [String]) {
    var kept: Set<String> = []
    var missing = names
    while let name = missing.popLast() {
        guard let target = package.targets.first(where: { $0.name == name }) else { continue }
        guard kept.insert(name).inserted else { continue }
        for dependency in target.dependencies {
            switch dependency {
            case .targetItem(let name, _), .byNameItem(let name, _): missing.append(name)
            default: break
            }
        }
    }
    package.targets.removeAll { !kept.contains($0.name) }
}

switch part {
case "sanitized":
    // Targets that use C or threads, for deploy/test.sh.
    keep([
        "FanfareMetricsTests", "HTTP2EngineTests", "PostgresClientTests", "PushCryptoTests", "ThreadingTests",
        "TransportTests",
    ])
    package.dependencies = [.package(url: "https://github.com/apple/swift-metrics", from: "2.13.0")] + processes
case "fuzz":
    // Everything that the fuzzer reaches is compiled for libFuzzer, for deploy/fuzz.sh.
    keep(["FanfareConfiguration", "FanfareCore", "FanfareProviders"])
    package.targets.append(
        .executableTarget(
            name: "Fuzz",
            dependencies: ["FanfareConfiguration", "FanfareCore", "FanfareProviders"],
            path: "Tests/Fuzz",
            exclude: ["Seeds"],
            swiftSettings: shared,
            // gold cannot link the address sanitizer's symbols.
            linkerSettings: [.unsafeFlags(["-use-ld=lld"])]
        )
    )
case "docs":
    // The articles contain no symbols, so deploy/docs.sh does not build the program.
    package.dependencies = [.package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0")]
    package.targets = [.target(name: "fanfare", path: "Sources/fanfare", sources: ["HelpText.swift"])]
default:
    addPrograms()
}

/// Adds the targets that need SwiftNIO: the HTTP API, the console, the simulated providers, both programs.
@MainActor func addPrograms() {
    package.dependencies += [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
        // Without its trait for configuration files.
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
    ]
    let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
    let nio: [Target.Dependency] = [
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOTLS", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
        .product(name: "NIOHTTP2", package: "swift-nio-http2"),
        .product(name: "NIOHPACK", package: "swift-nio-http2"),
    ]
    let hummingbird: [Target.Dependency] = [
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "HummingbirdCore", package: "hummingbird"),
        .product(name: "HummingbirdTLS", package: "hummingbird"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
    ]
    package.targets += [
        // The HTTP server of the API and the console: the listener, its limits, tokens, routes, answers.
        .target(
            name: "FanfareHTTP",
            dependencies: [
                "FanfareConfiguration", "FanfareCore", "FanfareDaemon", "FanfareLogging", "FanfareRecords",
                "FanfareTools", "PostgresClient", "PushCrypto", "PushTransport", "Threading", logging,
                serviceLifecycle,
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ] + hummingbird,
            swiftSettings: sources
        ),
        // The web console: its pages, by subject, and its actions.
        .target(
            name: "FanfareConsole",
            dependencies: [
                "FanfareConfiguration", "FanfareConsoleReads", "FanfareConsoleView", "FanfareCore", "FanfareDaemon",
                "FanfareExplain", "FanfareHTTP", "FanfareLogging", "FanfareRecords", "FanfareStore", "FanfareTools",
                "PostgresClient", "PushCrypto", "Threading", logging,
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            resources: [.embedInCode("Assets")],
            swiftSettings: sources
        ),
        // The HTTP API for services, devices and monitoring, and the listener that serves it beside the console.
        .target(
            name: "FanfareAPI",
            dependencies: [
                "FanfareConfiguration", "FanfareConsole", "FanfareCore", "FanfareDaemon", "FanfareExplain",
                "FanfareHTTP", "FanfareLogging", "FanfareMetrics", "FanfareProviders", "FanfareRecords",
                "FanfareService", "FanfareStore", "FanfareTools", "PostgresClient", "PushCrypto", "PushTransport",
                "Threading", logging, serviceLifecycle,
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            resources: [.embedInCode("openapi.json")],
            swiftSettings: sources
        ),
        // A listener beside a simulated daemon, and clients of it, for the two targets below. A test target, because only test targets
        // see internal declarations of others.
        .testTarget(
            name: "APIKit",
            dependencies: [
                "FanfareAPI", "FanfareConfiguration", "FanfareConsoleView", "FanfareCore", "FanfareDaemon",
                "FanfareHTTP", "FanfareMetrics", "FanfareProviders", "FanfareService", "FanfareTools",
                "PostgresClient", "TestKit", "Threading", logging, metrics, serviceLifecycle,
            ],
            path: "Tests/APIKit",
            swiftSettings: shared
        ),
        .testTarget(
            name: "FanfareAPITests",
            dependencies: [
                "APIKit", "COpenSSL", "FanfareAPI", "FanfareConfiguration", "FanfareCore", "FanfareDaemon",
                "FanfareHTTP", "FanfareLogging", "FanfareMetrics", "FanfareProviders", "FanfareRecords",
                "FanfareSending", "FanfareService", "FanfareStages", "FanfareStore", "FanfareTools", "PostgresClient",
                "Programs", "PushCrypto", "SandboxCrypto", "TestKit", "Threading", "fanfare", logging, metrics,
                serviceLifecycle,
                .product(name: "NIOEmbedded", package: "swift-nio"),
            ] + hummingbird,
            swiftSettings: shared
        ),
        .testTarget(
            name: "FanfareConsoleTests",
            dependencies: [
                "APIKit", "FanfareConfiguration", "FanfareConsole", "FanfareConsoleView", "FanfareCore",
                "FanfareDaemon", "FanfareExplain", "FanfareHTTP", "FanfareMetrics", "FanfareRecords", "FanfareSending",
                "FanfareService", "FanfareStore", "FanfareTools", "PostgresClient", "TestKit", "Threading", "fanfare",
                logging,
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: shared
        ),
        // The simulated providers, which share no code with the senders that they check.
        .target(
            name: "PushSandbox",
            dependencies: ["SandboxCrypto", "Threading"] + nio,
            swiftSettings: sources
        ),
        .testTarget(
            name: "PushSandboxTests",
            dependencies: ["Programs", "PushCrypto", "PushSandbox", "SandboxCrypto", "Threading"] + nio,
            swiftSettings: shared
        ),
        // A real browser for tests of pages: Chromium, controlled by WebDriver.
        .target(
            name: "BrowserKit",
            dependencies: ["Programs", "TestKit"],
            path: "Tests/BrowserKit",
            swiftSettings: shared
        ),
        .testTarget(
            name: "BrowserTests",
            dependencies: ["BrowserKit", "PostgresClient", "TestKit"],
            swiftSettings: shared
        ),
        // The command line, with everything that a sending machine needs.
        .executableTarget(
            name: "fanfare",
            dependencies: [
                "FanfareAPI", "FanfareCampaigns", "FanfareConfiguration", "FanfareCore", "FanfareDaemon",
                "FanfareExplain", "FanfareLogging", "FanfareMetrics", "FanfareMoving", "FanfareProviders",
                "FanfareRecords", "FanfareService", "FanfareStore", "FanfareTools", "PostgresClient", argumentParser,
                metrics, serviceLifecycle, unixSignals,
            ],
            swiftSettings: sources
        ),
        // The program for demos, simulation and benchmarks.
        .executableTarget(
            name: "fanfare-lab",
            dependencies: [
                "FanfareAPI", "FanfareConfiguration", "FanfareCore", "FanfareDaemon", "FanfareLogging",
                "FanfareMetrics", "FanfareProviders", "FanfareRecords", "FanfareService", "FanfareStore",
                "FanfareTools", "HTTP2Engine", "PostgresClient", "PrivateCluster", "Programs", "PushCrypto",
                "PushSandbox", "PushTransport", "Threading", argumentParser, logging, serviceLifecycle, unixSignals,
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ] + hummingbird,
            // The page of the demo, from deploy/examples.
            resources: ["index.html", "page.js", "service-worker.js"].map { .embedInCode("Dev/Page/\($0)") },
            swiftSettings: sources
        ),
    ]
}
