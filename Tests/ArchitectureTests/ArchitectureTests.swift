import Foundation
import Testing

/// The arrows between targets, which the compiler does not enforce.
struct ArchitectureTests {
    /// What each target may import beside Foundation, FoundationNetworking and Glibc.
    static let allowed: [String: Set<String>] = [
        "Threading": ["CEventFD"],
        "FanfareCore": ["Mustache"],
        "PostgresClient": ["CPostgres", "Threading"],
        "PushTransport": ["Threading"],
        "HTTP2Client": ["CCurl", "PushTransport", "Threading"],
        "HTTP2Engine": ["CNGHTTP2", "COpenSSL", "PushTransport", "Threading"],
        "PushCrypto": ["COpenSSL", "Threading"],
        // What the simulated providers check by: nothing of what the senders sign by.
        "SandboxCrypto": ["COpenSSL"],
        "FanfareConfiguration": ["FanfareCore", "Logging", "PushTransport", "Yams"],
        "FanfareSchema": ["CSchema"],
        "FanfareStore": ["FanfareCore", "FanfareSchema", "PostgresClient"],
        "FanfareRecords": ["FanfareCore", "FanfareStore", "PostgresClient"],
        "FanfareMetrics": ["CoreMetrics", "Synchronization", "Threading"],
        "FanfareLogging": ["FanfareConfiguration", "FanfareCore", "Logging", "Threading"],
        "FanfareProviders": [
            "FanfareConfiguration", "FanfareCore", "FanfareLogging", "HTTP2Client", "HTTP2Engine", "Logging",
            "PushCrypto", "PushTransport", "Threading",
        ],
        "FanfareStages": [
            "CoreMetrics", "FanfareConfiguration", "FanfareCore", "FanfareLogging", "FanfareMetrics",
            "FanfareProviders", "FanfareStore", "Logging", "PostgresClient", "Threading",
        ],
        "FanfareCampaigns": [
            "FanfareCore", "FanfareLogging", "FanfareProviders", "FanfareStages", "FanfareStore", "Logging",
            "PostgresClient", "Threading",
        ],
        "FanfareFeedback": [
            "FanfareConfiguration", "FanfareCore", "FanfareLogging", "FanfareProviders", "FanfareStages",
            "FanfareStore", "HTTP2Client", "Logging", "PostgresClient", "PushCrypto", "PushTransport", "Threading",
        ],
        "FanfareSending": [
            "CoreMetrics", "FanfareConfiguration", "FanfareCore", "FanfareLogging", "FanfareProviders", "FanfareStages",
            "FanfareStore", "Logging", "PostgresClient", "PushCrypto", "PushTransport", "Threading",
        ],
        "FanfareService": [
            "CoreMetrics", "FanfareCampaigns", "FanfareConfiguration", "FanfareCore", "FanfareFeedback",
            "FanfareLogging", "FanfareMetrics", "FanfareProviders", "FanfareSending", "FanfareStages", "FanfareStore",
            "HTTP2Client", "Logging", "PostgresClient", "PushTransport", "ServiceLifecycle", "Threading",
        ],
        "FanfareTools": [
            "FanfareCampaigns", "FanfareConfiguration", "FanfareCore", "FanfareFeedback", "FanfareLogging",
            "FanfareProviders", "FanfareRecords", "FanfareService", "FanfareStages", "FanfareStore", "HTTP2Client",
            "Logging", "PostgresClient", "PushCrypto", "PushTransport", "Threading",
        ],
        "FanfareExplain": [
            "FanfareCampaigns", "FanfareConfiguration", "FanfareCore", "FanfareProviders", "FanfareRecords",
            "FanfareService", "FanfareStore", "FanfareTools", "PostgresClient", "PushTransport", "Threading",
        ],
        "FanfareMoving": [
            "FanfareConfiguration", "FanfareCore", "FanfareLogging", "FanfareProviders", "FanfareRecords",
            "FanfareStore", "FanfareTools", "PostgresClient", "PushCrypto",
        ],
        "FanfareDaemon": [
            "CoreMetrics", "FanfareConfiguration", "FanfareCore", "FanfareLogging", "FanfareProviders",
            "FanfareService", "FanfareStages", "FanfareTools", "Logging", "PostgresClient", "ServiceLifecycle",
            "Threading", "UnixSignals",
        ],
        // What only the console reads, and what its pages are written with: both know neither HTTP nor each other.
        "FanfareConsoleReads": [
            "FanfareCampaigns", "FanfareConfiguration", "FanfareCore", "FanfareExplain", "FanfareProviders",
            "FanfareRecords", "FanfareStages", "FanfareStore", "FanfareTools", "PostgresClient", "Threading",
        ],
        "FanfareConsoleView": ["FanfareCore", "Mustache"],
        // What speaks HTTP: nothing that sends needs it, nor knows it. The server knows no route of API or console.
        "FanfareHTTP": [
            "FanfareConfiguration", "FanfareCore", "FanfareDaemon", "FanfareLogging", "FanfareRecords", "FanfareTools",
            "HTTPTypes", "Hummingbird", "HummingbirdCore", "HummingbirdTLS", "Logging", "NIOCore", "NIOHTTP1",
            "NIOHTTPTypes", "NIOPosix", "NIOSSL", "PostgresClient", "PushCrypto", "PushTransport", "ServiceLifecycle",
            "Threading",
        ],
        "FanfareConsole": [
            "FanfareConfiguration", "FanfareConsoleReads", "FanfareConsoleView", "FanfareCore", "FanfareDaemon",
            "FanfareExplain", "FanfareHTTP", "FanfareLogging", "FanfareRecords", "FanfareStore", "FanfareTools",
            "HTTPTypes", "HummingbirdCore", "Logging", "NIOCore", "PostgresClient", "PushCrypto", "Threading",
        ],
        "FanfareAPI": [
            "FanfareConfiguration", "FanfareConsole", "FanfareCore", "FanfareDaemon", "FanfareExplain", "FanfareHTTP",
            "FanfareLogging", "FanfareMetrics", "FanfareProviders", "FanfareRecords", "FanfareService", "FanfareStore",
            "FanfareTools", "HTTPTypes", "HummingbirdCore", "Logging", "NIOCore", "PostgresClient", "PushCrypto",
            "PushTransport", "ServiceLifecycle", "Threading",
        ],
        // Child processes; not part of the daemon.
        "Programs": ["Subprocess", "SystemPackage", "Threading"],
        "PrivateCluster": ["PostgresClient", "Programs", "Subprocess", "SystemPackage", "Threading"],
        "PushSandbox": [
            "NIOCore", "NIOHPACK", "NIOHTTP1", "NIOHTTP2", "NIOPosix", "NIOSSL", "NIOTLS", "SandboxCrypto", "Threading",
        ],
        "fanfare": [
            "ArgumentParser", "CoreMetrics", "FanfareAPI", "FanfareCampaigns", "FanfareConfiguration", "FanfareCore",
            "FanfareDaemon", "FanfareExplain", "FanfareLogging", "FanfareMetrics", "FanfareMoving", "FanfareProviders",
            "FanfareRecords", "FanfareService", "FanfareStore", "FanfareTools", "PostgresClient", "ServiceLifecycle",
            "UnixSignals",
        ],
        // The bench sends through the transport alone.
        "fanfare-lab": [
            "FanfareAPI", "FanfareConfiguration", "FanfareCore", "FanfareDaemon", "FanfareLogging", "FanfareMetrics",
            "FanfareProviders",
            "FanfareRecords",
            "FanfareService",
            "FanfareStore", "FanfareTools",
            "HTTP2Engine",
            "PostgresClient",
            "PrivateCluster", "Programs",
            "PushCrypto", "PushSandbox", "PushTransport", "Threading", "ArgumentParser", "Logging",
            "ServiceLifecycle", "UnixSignals",
            // The demo's page, which is an application too.
            "HTTPTypes", "Hummingbird", "NIOCore", "NIOHTTP1", "NIOPosix",
        ],
    ]
    /// The one target behind which each C module lies; OpenSSL, which a transport, the senders and their judge need, behind three.
    static let owners: [String: Set<String>] = [
        "CEventFD": ["Threading"], "CPostgres": ["PostgresClient"], "CCurl": ["HTTP2Client"],
        "CNGHTTP2": ["HTTP2Engine"],
        "COpenSSL": ["HTTP2Engine", "PushCrypto", "SandboxCrypto"], "CSchema": ["FanfareSchema"],
    ]
    static let everybody: Set<String> = ["Foundation", "FoundationNetworking", "Glibc", "Dispatch"]
    /// The C libraries and threads; the command line, which becomes the other program; and that, for the bench's yardstick in C.
    static let mayBeUnsafe: Set<String> = [
        "Threading", "PostgresClient", "HTTP2Client", "HTTP2Engine", "PushCrypto", "SandboxCrypto", "FanfareSchema",
        "fanfare", "fanfare-lab",
    ]

    @Test func targetsImportOnlyWhatLiesBelowThem() throws {
        for file in SourceFile.all {
            let allowed = try #require(Self.allowed[file.target], "target \(file.target) has no row in the table")
            for line in file.imports where !allowed.union(Self.everybody).contains(line.module) {
                Issue.record("\(file.path) imports \(line.module)")
            }
        }
    }

    @Test func cModulesAreNeverPartOfAnInterface() throws {
        for file in SourceFile.all {
            for line in file.imports where Self.isCModule(line.module) {
                #expect(line.access == "internal", "\(file.path) imports \(line.module)")
            }
        }
    }

    @Test func cModulesLieBehindTheirOwners() throws {
        var importers: [String: Set<String>] = [:]
        for file in SourceFile.all {
            for line in file.imports where Self.isCModule(line.module) {
                importers[line.module, default: []].insert(file.target)
            }
        }
        #expect(importers == Self.owners)
    }

    /// The laboratory is an application to the database, and writes what applications write.
    @Test func sqlLiesInTheStore() throws {
        let sql = /["\n] *(SELECT|INSERT INTO|UPDATE|DELETE FROM|WITH|SET|SET LOCAL|LOCK TABLE|TRUNCATE|LISTEN) [^"]/
        let speakers: Set<String> = [
            "FanfareRecords", "FanfareStore", "PostgresClient", "PrivateCluster", "fanfare-lab",
        ]
        let elsewhere = SourceFile.all.filter { !speakers.contains($0.target) && $0.code.contains(sql) }.map(\.path)
        #expect(elsewhere.isEmpty)
    }

    @Test func unsafeCodeStaysBehindItsWalls() throws {
        let unsafe = SourceFile.all.filter { $0.code.contains(/\bunsafe\b/) }
        let elsewhere = unsafe.filter { !Self.mayBeUnsafe.contains($0.target) }.map(\.path)
        #expect(elsewhere.isEmpty)
    }

    @Test func thePipelineIsOnePage() throws {
        let page = try #require(SourceFile.all.first { $0.path.hasSuffix("/Pipeline.swift") })
        #expect(page.text.split(separator: "\n", omittingEmptySubsequences: false).count <= 80)
        let declared = page.code.matches(of: /\n    let (\w+): (\[any Stage\]|any Stage)\n/).map { String($0.1) }
        #expect(
            Set(["control", "record", "send", "claim", "slice", "plan", "schedule", "maintain", "listen", "tell"])
                == Set(declared)
        )
        let order = try #require(page.code.firstMatch(of: /var stages: \[any Stage\] \{\s*([^}]+)\}/)).1
        for stage in declared {
            #expect(order.matches(of: try Regex("\\b\(stage)\\b")).count == 1, "\(stage)")
        }
    }

    @Test func logMessagesAreConstant() throws {
        let interpolated = SourceFile.all.filter { $0.code.contains(/[lL]ogger\.[a-z]+\(\s*"[^"\n]*\\\(/) }.map(\.path)
        #expect(interpolated.isEmpty)
    }

    private static func isCModule(_ name: String) -> Bool {
        name.wholeMatch(of: /C[A-Z][A-Za-z0-9]+/) != nil
    }
}
