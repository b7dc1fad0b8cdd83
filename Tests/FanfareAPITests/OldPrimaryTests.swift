import FanfareCore
import TestKit
import Testing

@testable import APIKit
@testable import FanfareTools
@testable import PostgresClient

@Suite(.database) struct OldPrimaryTests {
    @Test func nothingIsWrittenWhereTheDaemonWouldNotGoBackTo() async throws {
        let timelines = PostgresTimelines()
        try await APIWorld.with(APIWorld.configuration(), timelines: timelines) { api in
            let token = try await api.token(.emitter)
            let event = #"{"type": "order.shipped", "payload": {}}"#
            #expect(try await api.ask("POST", "/v1/events", event, token: token).status == 202)
            let options = PostgresOptions(url: TestDatabase.current.url, timelines: timelines)
            let here = try #require(try PostgresConnection.open(options).timeline)
            // A session of the daemon connected to the new primary.
            try timelines.enter(try #require(PostgresTimeline(place: "new", columns: [here.system, "00000002", ""])))
            #expect(try await api.ask("POST", "/v1/events", event, token: token).status == 503)
            #expect(try await api.rows("SELECT count(*) FROM fanfare.outbox") == [["1"]])
        }
    }
}
