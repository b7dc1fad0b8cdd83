import PostgresClient
import TestKit
import Testing

@testable import DaemonKit

/// The stored progress of changes of FCM's own topics.
@Suite(.database)
struct TopicChangeTests {
    private let connection: PostgresConnection

    init() throws {
        connection = try TestDatabase.current.connect()
    }

    private func note(_ device: Int, isFinished: Bool = false, _ operation: String = "subscribe") throws {
        _ = try connection.query(
            "SELECT fanfare.note_topic_change('shop', $1, 'news', '\\x01', $2::bigint, $3::jsonb, $4::boolean)",
            operation,
            String(device),
            #"{"done": \#(device)}"#,
            isFinished ? "true" : "false"
        )
    }

    private func row() throws -> [String?] {
        try connection.query(
            """
            SELECT device_id, counts->>'done', finished_at IS NOT NULL, started_at = $1::timestamptz, noted_at > started_at
            FROM fanfare.topic_changes WHERE operation = 'subscribe'
            """,
            try connection.text("SELECT coalesce(current_setting('test.begun', true), 'epoch')")
        ).rows[0]
    }

    @Test func progressIsStoredUntilTheChangeBeginsAgain() throws {
        try note(0)
        let begun = try #require(
            try connection.text("SELECT started_at FROM fanfare.topic_changes WHERE operation = 'subscribe'")
        )
        try connection.execute("SET test.begun = '\(begun)'")
        try note(7)
        #expect(try row() == ["7", "7", "f", "t", "t"])
        try note(9, isFinished: true)
        #expect(try row() == ["9", "9", "t", "t", "t"])
        try note(0)
        #expect(try row() == ["0", "0", "f", "f", "f"], "a change that begins again has a new beginning")
        #expect(try connection.number("SELECT count(*) FROM fanfare.topic_changes") == 1)
    }

    /// Otherwise the change would continue after devices that the opposite has changed back.
    @Test func theOppositeForgetsTheProgressWhenItBegins() throws {
        try note(0)
        try note(7)
        try note(5, "unsubscribe")
        #expect(try row().first == "7", "an opposite that continues has begun before")
        try note(0, "unsubscribe")
        #expect(try connection.column("SELECT operation FROM fanfare.topic_changes") == ["unsubscribe"])
    }

    @Test func anOperationIsOneOfTwo() throws {
        #expect(throws: PostgresError.self) { try note(0, "subscribed") }
    }
}
