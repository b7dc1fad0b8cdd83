import FanfareCore
import HTTPTypes
import PostgresClient
import TestKit
import Testing

@testable import APIKit
@testable import FanfareAPI
@testable import FanfareHTTP

/// Compares the OpenAPI document with the routes.
@Suite struct OpenAPITests {
    private let document: JSONValue

    init() throws {
        document = try JSONValue(parsing: PackageResources.openapi_json)
    }

    @Test func everyRouteIsInTheDocumentAndTheReverse() throws {
        let members = document["paths"]?.objectValue?.members ?? []
        let described = members.flatMap { path in
            (path.value.objectValue?.members ?? []).map { "\($0.key.uppercased()) \(path.key)" }
        }
        let there = try Routes.listed.map { "\($0.method.rawValue) \($0.path)" }
        #expect(described.sorted() == there.sorted())
        #expect(Set(there).count == there.count)
    }

    /// Routes that would repeat an effect accept an idempotency key; all others are idempotent.
    @Test func whatMayComeTwiceTakesAKey() throws {
        let operations = try Routes.listed.filter { route in
            let operation = document["paths"]?[route.path]?[route.method.rawValue.lowercased()]
            return operation?["parameters"]?.arrayValue?.contains { $0["name"] == "Idempotency-Key" } == true
                && operation?["responses"]?["409"] != nil
        }
        #expect(
            operations.map(\.path).sorted() == [
                "/v1/apps/{app}/campaigns/{campaign}/start", "/v1/apps/{app}/messages", "/v1/events",
                "/v1/events/batch", "/v1/events/{id}/replay",
            ]
        )
    }

    @Test func scopesNamesAndBodiesAreToldAsTheyAre() throws {
        for route in try Routes.listed {
            let operation = try #require(document["paths"]?[route.path]?[route.method.rawValue.lowercased()])
            let schemes = (operation["security"]?.arrayValue ?? []).compactMap { $0.objectValue?.members.first?.key }
            let scope = route.isForReports ? nil : route.scope
            let others = (route.isForPhones ? ["phone"] : []) + (route.isForReports ? ["report"] : [])
            #expect(schemes == (scope == nil ? [] : ["token"]) + others, "\(route.path)")
            #expect(operation["x-scope"]?.stringValue == scope?.rawValue, "\(route.path)")
            let names = route.path.split(separator: "/").filter { $0.hasPrefix("{") }
                .map { String($0.dropFirst().dropLast()) }
            let told = (operation["parameters"]?.arrayValue ?? []).filter { $0["in"] == "path" }
            #expect(told.compactMap { $0["name"]?.stringValue } == names)
            #expect(operation["requestBody"] == nil || route.takesBody, "\(route.path)")
            let statuses = (operation["responses"]?.objectValue?.members ?? []).map(\.key)
            #expect(statuses.contains { $0.hasPrefix("2") } && (route.scope == nil || statuses.contains("401")))
        }
    }
}

@Suite(.database) struct DocumentTests {
    @Test func documentsAreServedToEverybody() async throws {
        try await APIWorld.with { api in
            let served = try await api.ask("GET", "/v1/openapi.json")
            #expect(served.status == 200 && served.headers["content-type"] == "application/json")
            #expect(try served.json["openapi"] == "3.1.0")
            let text = try await api.ask("GET", "/metrics")
            #expect(text.headers["content-type"]?.hasPrefix("text/plain; version=0.0.4") == true)
            for line in [
                "# TYPE fanfare_oldest_pending_seconds gauge", "fanfare_database_up 1", "fanfare_lease_held 1",
                "# TYPE process_cpu_seconds_total counter", #"fanfare_build_info{version="test"} 1"#,
            ] {
                #expect(text.body.contains("\(line)\n"), "\(line)")
            }
            let open = try await api.ask(
                "GET",
                "/metrics",
                nil,
                ["Accept": "application/openmetrics-text; version=1.0.0"]
            )
            #expect(open.body.hasSuffix("# EOF\n") && open.body.contains("# TYPE process_cpu_seconds counter\n"))
        }
    }

    @Test func metricsTellHowMuchWaitsAndForHowLong() async throws {
        try await APIWorld.with { api in
            try await onThread { [database = TestDatabase.current] in
                let connection = try database.connect()
                _ = try connection.query("SELECT fanfare.register_device('shop', 'apns', 'aa01')")
                try connection.execute(
                    """
                    INSERT INTO fanfare.batches (event_id, rule_version, target_id, lane, device_ids, created_at)
                    SELECT 1, 1, id, 2, '{1,2,3}', clock_timestamp() - interval '1 hour'
                    FROM fanfare.targets WHERE environment = 'production'
                    """
                )
            }
            let text = try await api.ask("GET", "/metrics").body
            let labels = #"app="shop",environment="production",lane="bulk",provider="apns""#
            #expect(text.contains("fanfare_pending_pushes{\(labels),state=\"ready\"} 3\n"))
            #expect(text.contains("fanfare_pending_pushes{\(labels),state=\"waiting\"} 0\n"))
            let oldest = try #require(text.firstMatch(of: /\nfanfare_oldest_pending_seconds\{lane="bulk"\} (\d+)\n/))
            let seconds = try #require(Int(oldest.1))
            #expect((3600..<7200).contains(seconds))
            #expect(text.contains("\nfanfare_oldest_pending_seconds{lane=\"normal\"} 0\n"))
        }
    }
}
