import FanfareCore
import Foundation
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareConfiguration
@testable import FanfareProviders
@testable import FanfareTools

/// The simulated FCM, a database with devices of app `shop`, and changes of its topics with short waits.
struct TopicWorld {
    let flow: Flow
    let configuration: Configuration

    init() throws {
        flow = try Flow.idle()
        configuration = try flow.configuration()
    }

    /// The number of the ledger's last line.
    func mark() async throws -> Int { try await flow.sandbox.awaitCounts().received }

    func devices(_ count: Int, named prefix: String) async throws {
        try await flow.sql { world in
            try world.connection.execute(
                """
                SELECT count(fanfare.register_device('shop', 'fcm', '\(prefix)-' || n, 'u' || n % 2))
                FROM generate_series(1, \(count)) AS n
                """
            )
        }
    }

    func change(_ operation: FCMTopicOperation, _ topic: String = "stores") throws -> TopicChange {
        var change = try TopicChange(operation, topic: topic, of: FCMDeviceFilter(app: "shop"))
        change.rate = 3000
        // FCM's own waits are its own: the tests' are short.
        change.pace.firstWait = Micros.millisecond
        change.pace.longestHold = 10 * Micros.millisecond
        return change
    }

    func apply(
        _ change: TopicChange,
        _ configuration: Configuration? = nil,
        stop: TopicStop = TopicStop(),
        tell: @escaping @Sendable (TopicNews) throws(ToolError) -> Void = { _ in }
    ) async throws -> TopicReport {
        try await toolDatabase().whileOpen { database throws(ToolError) in
            try await database.apply(
                change,
                configuration ?? self.configuration,
                environment: [:],
                stop: stop,
                tell: tell
            )
        }
    }

    /// Returns the requests to FCM's topics after a line of the ledger.
    func requests(after mark: Int) async throws -> [ReceivedPush] {
        try await flow.sandbox.received(after: mark).filter { $0.provider == "fcm_topics" }
    }

    func stored() throws -> [String?] {
        try TestDatabase.current.connect().query(
            """
            SELECT operation || ' ' || topic || ' ' || (SELECT count(*) FROM fanfare.devices WHERE id <= device_id)
                || CASE WHEN finished_at IS NULL THEN '' ELSE ' finished' END
            FROM fanfare.topic_changes ORDER BY started_at
            """
        ).rows.map { $0[0] }
    }

    /// Returns the path of the sandbox's service account with another project.
    func accountFile(_ folder: String, project: String) throws -> String {
        let path = "\(folder)/\(project).json"
        let text = try String(contentsOfFile: flow.sandbox.ready.serviceAccountFile, encoding: .utf8)
        try text.replacing(/"project_id" ?: ?"demo-project"/, with: "\"project_id\": \"\(project)\"").write(
            toFile: path,
            atomically: true,
            encoding: .utf8
        )
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        return path
    }
}
