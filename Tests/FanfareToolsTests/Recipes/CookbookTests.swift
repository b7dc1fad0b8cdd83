import FanfareCore
import TestKit
import Testing

@testable import DaemonKit

/// The recipes for orders, the digest, the reminder and live scores work as printed.
@Suite(.database) struct CookbookTests {
    /// Returns the pushes that the sandbox received after the given number: start of the token, title and text.
    private func shown(_ count: Int, after number: Int, in kitchen: RecipeKitchen) async throws -> [[String]] {
        try await kitchen.sandbox.awaitReceived(count, after: number).map { push in
            let alert = try JSONValue(parsing: push.body ?? "")["aps"]?["alert"]
            let token = String(push.path.prefix(12).suffix(2))
            return [token, alert?["title"]?.stringValue ?? "", alert?["body"]?.stringValue ?? ""]
        }
    }

    @Test(.timeLimit(.minutes(5))) func ordersTellOfTheirChangesAndOfNothingElse() async throws {
        let blocks = try Recipe("Orders").blocks
        #expect(blocks.map(\.language) == ["sql", "yaml", "sh", "sql", "sql"])
        try await RecipeKitchen.open { kitchen in
            for block in blocks.dropLast() { try await kitchen.follow(block, file: "orders.yaml") }
            #expect(try await shown(1, after: 0, in: kitchen) == [["d1", "Pedido 1", "En camino, 42.50 €"]])
            try await kitchen.follow(try #require(blocks.last), file: "")
            #expect(try await shown(1, after: 1, in: kitchen) == [["d1", "Pedido 1", "Entregado"]])
            #expect(try sql("SELECT count(*) FROM fanfare.events") == ["2"], "a note is nobody's business")
        }
    }

    @Test(.timeLimit(.minutes(5))) func aReadReceiptClearsTheOtherPhone() async throws {
        let blocks = try Recipe("A read receipt").blocks
        #expect(blocks.map(\.language) == ["yaml", "sh", "sql", "sql", "swift"])
        try await RecipeKitchen.open { kitchen in
            for block in blocks[..<3] { try await kitchen.follow(block, file: "receipts.yaml") }
            #expect(try await shown(2, after: 0, in: kitchen).map { $0[1] } == ["bob", "bob"])
            try await kitchen.follow(blocks[3], file: "")
            let pushes = try await kitchen.sandbox.awaitReceived(2, after: 2)
            #expect(Set(pushes.map { $0.path.prefix(12) }) == ["/3/device/a2", "/3/device/a3"])
            for push in pushes {
                #expect(push.headers["apns-push-type"] == "background" && push.headers["apns-priority"] == "5")
                let body = try JSONValue(parsing: push.body ?? "")
                #expect(body["fanfare_retracted"]?.objectValue?.members.map(\.key) == ["room-7"])
            }
        }
    }

    @Test(.timeLimit(.minutes(5))) func aDigestComesOnceADay() async throws {
        let blocks = try Recipe("A digest").blocks
        #expect(blocks.map(\.language) == ["sql", "sql", "yaml", "sh", "sql"])
        try await RecipeKitchen.open { kitchen in
            for block in blocks { try await kitchen.follow(block, file: "digest.yaml") }
            #expect(try await shown(1, after: 0, in: kitchen) == [["f1", "2 new posts", "Rain again, On bread"]])
            try kitchen.run(
                """
                SELECT fanfare.register_device('shop', 'apns', repeat('b1', 32), 'kim');
                INSERT INTO follows (user_id, author) VALUES ('kim', 'ida');
                SELECT emit_digests()
                """
            )
            #expect(try await shown(1, after: 1, in: kitchen) == [["b1", "1 new posts", "Not followed"]])
            let fates = try sql("SELECT fate FROM fanfare.events ORDER BY fate")
            #expect(fates == ["duplicate", "duplicate", "planned", "planned"])
        }
    }

    @Test(.timeLimit(.minutes(5))) func aReminderMovesWithItsAppointment() async throws {
        let blocks = try Recipe("A reminder that moves").blocks
        #expect(blocks.map(\.language) == ["sql", "sql", "yaml", "sh", "sql"])
        try await RecipeKitchen.open { kitchen in
            for block in blocks { try await kitchen.follow(block, file: "reminder.yaml") }
            #expect(try await shown(1, after: 0, in: kitchen).map { $0.prefix(2) } == [["a7", "Your appointment"]])
            let waiting = "SELECT key LIKE '2 at %' AND at > now() + interval '21 hours' FROM fanfare.upcoming"
            #expect(try sql(waiting) == ["t"])
            try kitchen.run("DELETE FROM appointments")
            #expect(try sql("SELECT count(*) FROM fanfare.upcoming") == ["0"])
        }
    }

    @Test(.timeLimit(.minutes(5))) func ofScoresOnlyTheNewestCounts() async throws {
        let blocks = try Recipe("Live scores").blocks
        #expect(blocks.map(\.language) == ["sql", "yaml", "sh", "sql"])
        try await RecipeKitchen.open { kitchen in
            for block in blocks { try await kitchen.follow(block, file: "scores.yaml") }
            #expect(try await shown(1, after: 0, in: kitchen) == [["e1", "Rovers 1:1 City", "Goal"]])
            try kitchen.run("UPDATE matches SET home_goals = 2 WHERE id = 1")
            #expect(try await shown(1, after: 1, in: kitchen) == [["e1", "Rovers 2:1 City", "Goal"]])
            // Its batch may close after the provider got the next push.
            let dropped = "SELECT count(*) = 1 FROM fanfare.deliveries WHERE outcome = 'superseded'"
            try TestDatabase.current.connect().waitUntil(dropped)
        }
    }
}
