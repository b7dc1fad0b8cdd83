import Foundation
import PostgresClient
import Programs
import TestKit
import Testing

@testable import DaemonKit

/// Runs a test in a temporary folder, which is deleted afterwards.
private func withFolder(_ body: (String) async throws -> Void) async throws {
    let folder = NSTemporaryDirectory() + "fanfare-dev-" + UUID().uuidString.prefix(13).lowercased()
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try await body(folder)
}

private func start(_ arguments: [String], in folder: String) async throws -> ProgramProcess {
    let program = try FanfareBinary.path()
    // Variables of the environment must have no effect.
    let environment = ["DATABASE_URL": "postgres://127.0.0.1:1/app", "FANFARE_LOG__LEVEL": "nonsense"]
    return try await ProgramProcess(program, ["dev"] + arguments, environment: environment, directory: folder)
}

/// `fanfare dev`, the first command that a new user runs.
@Suite(.serialized) struct DevTests {
    @Test(.timeLimit(.minutes(3))) func onceShowsThePushAndMayBeRunAgain() async throws {
        try await withFolder { folder in
            for order in [2, 4] {
                let process = try await start(["--once"], in: folder)
                var output: [String] = []
                for await line in process.output { output.append(line) }
                #expect(await process.exitStatus() == 0)
                #expect(output.contains("    │ Order \(order) is on its way"))
                #expect(output.contains("    apns-collapse-id  order-\(order)"))
                let times = output.compactMap {
                    $0.wholeMatch(of: #/  ([0-9.]+)(, [0-9.]+)+ and [0-9.]+ ms from sending COMMIT .*/#)
                }
                #expect(times.compactMap { Double($0.1) }.first.map { $0 > 0 } == true)
                let files = try FileManager.default.contentsOfDirectory(atPath: folder + "/.fanfare")
                #expect(Set(files).isSubset(of: ["api-token", "fanfare.log", "postgres", "sandbox"]))
                #expect(!FileManager.default.fileExists(atPath: folder + "/.fanfare/postgres/data/postmaster.pid"))
            }
        }
    }

    @Test(.timeLimit(.minutes(3))) func furtherPushesAreShownUntilInterrupted() async throws {
        try await withFolder { folder in
            let process = try await start([], in: folder)
            var lines = process.output.makeAsyncIterator()
            var url: String?
            while let line = await lines.next(), !line.contains("Ctrl-C") {
                if let match = line.wholeMatch(of: #/  psql '(.+)'/#) { url = String(match.1) }
            }
            let database = try #require(url)
            try await onThread("sql") {
                let connection = try PostgresConnection.open(PostgresOptions(url: database))
                defer { connection.close() }
                try connection.execute("BEGIN; UPDATE public.orders SET status = 'new' WHERE customer_id = 'alice'")
                try connection.execute("UPDATE public.orders SET status = 'shipped'; ROLLBACK")
                try connection.execute("UPDATE public.orders SET status = 'shipped' WHERE customer_id = 'bob'")
            }
            var shown: [String] = []
            while let line = await lines.next() {
                if line.contains("│") { shown.append(line) }
                if line.contains("payload") { break }
            }
            #expect(shown.first == "    │ Order 1 is on its way")
            process.signal(SIGINT)
            #expect(await process.exitStatus() == 0)
        }
    }
}
