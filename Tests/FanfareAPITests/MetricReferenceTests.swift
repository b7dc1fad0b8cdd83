import FanfareCore
import FanfareMetrics
import FanfareService
import Foundation
import PostgresClient
import Programs
import TestKit
import Testing

@testable import APIKit
@testable import FanfareAPI

/// Compares `/metrics` with the article, and checks it with Prometheus' own tools.
@Suite(.database) struct MetricReferenceTests {
    private static let article = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Sources/fanfare/Documentation.docc/Metrics.md")

    @Test func theArticleHasEveryMetric() throws {
        let text = try String(contentsOf: Self.article, encoding: .utf8)
        let begin = try #require(text.range(of: "<!-- metrics: begin -->\n"))
        let end = try #require(text.range(of: "<!-- metrics: end -->"))
        if ProcessInfo.processInfo.environment["FANFARE_UPDATE_DOCS"] == "1" {
            let updated = text[..<begin.upperBound] + MetricReference.text + "\n" + text[end.lowerBound...]
            return try String(updated).write(to: Self.article, atomically: true, encoding: .utf8)
        }
        #expect(
            text[begin.upperBound..<end.lowerBound] == MetricReference.text + "\n",
            "FANFARE_UPDATE_DOCS=1 writes it"
        )
    }

    /// With an expiring credential, a backlog, a campaign and an unhealthy daemon, every metric has a value.
    @Test func allThatIsToldIsDescribedAndTheReverse() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "fanfare-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let certificate = folder.appending(path: "apns.pem").path
        let request =
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /UID=com.example.app/CN=apns"
        let places = ["-keyout", "\(certificate).key", "-out", certificate]
        _ = try await run("openssl", request.split(separator: " ").map(String.init) + places)
        let key = try #require(FileManager.default.contents(atPath: "\(certificate).key"))
        let chain = try #require(FileManager.default.contents(atPath: certificate))
        try (key + chain).write(to: URL(filePath: certificate))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: certificate)
        let apps = "apps: { shop: { apns: { topic: com.example.app, certificate_file: \"\(certificate)\" } } }"
        try await APIWorld.with(apps) { api in
            try await onThread { [database = TestDatabase.current] in
                let connection = try database.connect()
                _ = try connection.query("SELECT fanfare.register_device('shop', 'apns', 'aa01')")
                try connection.execute(
                    """
                    INSERT INTO fanfare.batches (event_id, rule_version, target_id, lane, device_ids, created_at, not_before)
                    SELECT 1, 1, id, 0, '{1}', clock_timestamp() - interval '2 hours', clock_timestamp() - interval '1 hour'
                    FROM fanfare.targets WHERE environment = 'production';
                    SELECT fanfare.put_campaign(
                        '{"app": "shop", "name": "c", "to": {"everyone": true}, "message": {"notification": {"title": "T"}}}')
                    """
                )
            }
            api.stands(
                openBreakers: ["shop/apns/production"],
                blownFuses: ["shop/sandbox"],
                provedAt: 1_700_000_000.5
            )
            let text = try await api.ask("GET", "/metrics").body
            let ready =
                /fanfare_oldest_ready_seconds\{app="shop",environment="production",lane="transactional",provider="apns"\} (\d+)/
            let seconds = try #require(text.firstMatch(of: ready).flatMap { Int($0.1) })
            #expect((3600..<7200).contains(seconds))
            for line in [
                #"fanfare_prune_fuse_blown{app="shop",environment="sandbox"} 1"#,
                "fanfare_listen_proved_timestamp_seconds 1700000000.5",
                #"fanfare_campaign_runs{app="shop",state="running"} 0"#,
                #"fanfare_campaign_pushes_remaining{app="shop"} 0"#,
            ] {
                #expect(text.contains("\n\(line)\n"), "\(line)")
            }
            let pattern =
                /\nfanfare_credential_expires_timestamp_seconds\{app="shop",credential="APNs certificate"\} (\d+)\n/
            let end = try #require(text.firstMatch(of: pattern).flatMap { Double($0.1) })
            #expect(abs(end - Date().timeIntervalSince1970 - 30 * 86_400) < 86_400)
            try expectDescribed(text)
            let findings = try await run("promtool", ["check", "metrics"], input: text)
            #expect(findings == "", "promtool check metrics")
        }
    }

    /// Checks that every sample has a row with its labels, and every row that is read on request has a sample.
    private func expectDescribed(_ text: String) throws {
        let known = Dictionary(uniqueKeysWithValues: MetricReference.descriptions.map { ($0.name, $0) })
        var told: Set<String> = []
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            let sample = try #require(line.wholeMatch(of: /([a-z_]+)(?:\{(.*)\})? \S+/), "\(line)")
            let metric = try #require(known[String(sample.1)], "Metrics.md does not have \(sample.1)")
            let names = (sample.2 ?? "").matches(of: /([a-z]+)="/).map { String($0.1) }
            #expect(Set(names) == Set(metric.labels), "\(line)")
            told.insert(metric.name)
        }
        for metric in MetricReference.descriptions where told.contains(metric.name) {
            let kind = metric.kind?.rawValue ?? ""
            #expect(text.contains("# TYPE \(metric.name) \(kind)\n"), "\(metric.name)")
        }
        #expect(Set(FigureMetric.allCases.map(\.rawValue)).subtracting(told).isEmpty)
    }

    /// Runs a program.
    ///
    /// - Returns: its standard output and standard error.
    /// - Throws: if it fails or is missing: `deploy/install-dependencies.sh --metrics` installs promtool.
    private func run(_ program: String, _ arguments: [String], input: String = "") async throws -> String {
        let command = try await Command.run([program] + arguments, input: input)
        let said = command.output + command.errors
        try #require(
            command.status == 0,
            "\(program) says: \(said) (deploy/install-dependencies.sh --metrics installs promtool)"
        )
        return said
    }
}
