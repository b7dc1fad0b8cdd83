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
    dependencies: [],
    targets: [
        .target(name: "Threading", swiftSettings: sources),
        .testTarget(name: "ThreadingTests", dependencies: ["Threading"], swiftSettings: shared),
    ]
)
