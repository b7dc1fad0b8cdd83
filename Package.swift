// swift-tools-version: 6.2
import Foundation
import PackageDescription

// SwiftNIO is most of a build, so the sanitizer runs leave it out: the sandbox runs beside them as a process.
let withoutSandbox = ProcessInfo.processInfo.environment["FANFARE_WITHOUT_SANDBOX"] == "1"

let shared: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),  // SE-0335
    .enableUpcomingFeature("MemberImportVisibility"),  // SE-0444
    .enableUpcomingFeature("InternalImportsByDefault"),  // SE-0409
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),  // SE-0461
    .treatAllWarnings(as: .error),
]
let sources: [SwiftSetting] = shared + [.strictMemorySafety()]  // SE-0458

let package = Package(
    name: "fanfare",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(url: "https://github.com/hummingbird-project/swift-mustache", from: "2.1.1"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
    ],
    targets: [
        .target(name: "Threading", swiftSettings: sources),
        .systemLibrary(name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .target(
            name: "PostgresClient",
            dependencies: ["CPostgres"],
            resources: [.embedInCode("schema.sql")],
            swiftSettings: sources
        ),
        .target(
            name: "FanfareCore",
            dependencies: [.product(name: "Mustache", package: "swift-mustache")],
            swiftSettings: sources
        ),
        .target(name: "PushTransport", swiftSettings: sources),
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .target(name: "PushCrypto", dependencies: ["COpenSSL"], swiftSettings: sources),
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .target(name: "HTTP2Client", dependencies: ["CCurl", "PushTransport"], swiftSettings: sources),
        .target(name: "PrivateCluster", dependencies: ["PostgresClient", "Threading"], swiftSettings: sources),
        .target(
            name: "FanfareService",
            dependencies: [
                "FanfareCore", "HTTP2Client", "PostgresClient", "PushCrypto", "PushTransport", "Threading",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
                "Yams",
            ],
            swiftSettings: sources
        ),
        .testTarget(name: "ThreadingTests", dependencies: ["Threading"], swiftSettings: shared),
    ]
)
