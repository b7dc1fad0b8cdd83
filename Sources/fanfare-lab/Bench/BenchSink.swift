import ArgumentParser
import Foundation
import PushSandbox
import PushTransport

/// The provider that the daemon pushes to.
enum SinkKind: String, ExpressibleByArgument, CaseIterable {
    /// The simulated provider, which checks every request and keeps only counts.
    case sandbox
    /// `nghttpd --echo-upload`, which responds 200 to every request.
    case nghttpd
}

/// A provider, and the credentials for it.
struct BenchSink: Sendable {
    let endpoint: String
    let caFile: String?
    let keyFile: String
    let teamID: String
    let keyID: String
    let topic: String
    /// The address of the daemon's HTTP API; nil for none.
    var api: String?

    /// Writes a daemon's configuration.
    ///
    /// - Returns: the file's path.
    func writeConfiguration(named name: String, database: BenchDatabase, in place: BenchPlace) throws -> String {
        var lines = [
            "installation: bench",
            "database:",
            "  url: \"\(database.url)\"",
            "apps:",
            "  bench:",
            "    apns:",
            "      team_id: \"\(teamID)\"",
            "      key_id: \"\(keyID)\"",
            "      key_file: \"\(keyFile)\"",
            "      topic: \"\(topic)\"",
            "      endpoint: \(endpoint)",
            "      sandbox_endpoint: \(endpoint)",
        ]
        if let caFile { lines.append("      ca_file: \"\(caFile)\"") }
        // More connections than the bench's readers; each token has its own limit of streams.
        if let api { lines += ["api:", "  listen: \"\(api)\"", "  connections: 4000"] }
        lines += ["log:", "  level: warning"]
        let path = place.directory + "/\(name).yaml"
        try (lines.joined(separator: "\n") + "\n").write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    /// Returns the same credentials for another endpoint.
    func at(_ endpoint: String, caFile: String?) -> BenchSink {
        BenchSink(
            endpoint: endpoint,
            caFile: caFile,
            keyFile: keyFile,
            teamID: teamID,
            keyID: keyID,
            topic: topic,
            api: api
        )
    }
}

extension BenchPlace {
    /// Starts a simulated provider in this process.
    ///
    /// - Parameters:
    ///   - name: the name of its folder.
    ///   - keepsLedger: whether it records the arrival of samples (``SQL/emitSample``), or only counts.
    ///   - faults: its faults, in the sandbox's format.
    /// - Returns: the provider, and its endpoint and credentials.
    /// - Throws: if it cannot start.
    func startSandbox(
        named name: String,
        keepsLedger: Bool,
        faults: String? = nil
    ) async throws -> (sandbox: PushSandbox, sink: BenchSink) {
        var options = SandboxOptions(directory: directory + "/" + name)
        options.sink = !keepsLedger
        options.ledgerCollapsePrefix = LatencyBench.collapsePrefix
        options.faults = faults.map { Array($0.utf8) }
        let sandbox = try await PushSandbox.start(options)
        let sink = BenchSink(
            endpoint: "https://localhost:\(sandbox.tlsPort)",
            caFile: sandbox.ready.caFile,
            keyFile: sandbox.ready.dir + "/AuthKey_\(options.keyID).p8",
            teamID: options.teamID,
            keyID: options.keyID,
            topic: options.topics.first ?? ""
        )
        return (sandbox, sink)
    }

    /// Finds a program in PATH; nil if it is missing.
    static func program(_ name: String) -> String? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        return (path.split(separator: ":").map(String.init) + ["/usr/sbin"])
            .map { $0 + "/" + name }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }
}

extension Endpoint {
    /// Whether the host is this machine.
    var isLoopback: Bool {
        host == "localhost" || host == "::1" || host.hasPrefix("127.") && host.allSatisfy { $0.isNumber || $0 == "." }
    }
}
