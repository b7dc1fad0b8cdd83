import FanfareCore
import Foundation
import TestKit
import Testing

@testable import DaemonKit

/// The chat recipe of the cookbook works as printed.
@Suite(.database) struct ChatRecipeTests {
    /// Returns the content of a push: recipient, sender, text, badge.
    private func shown(_ push: ReceivedPush) throws -> [String] {
        let phones = ["/3/device/a1": "ann", "/3/device/b0": "bob", "/3/device/c1": "cleo"]
        let aps = try JSONValue(parsing: push.body ?? "")["aps"]
        let alert = aps?["alert"]
        let badge = (aps?["badge"]).map { String(decoding: $0.encoded, as: UTF8.self) } ?? "none"
        let phone = phones[String(push.path.prefix(12))] ?? push.path
        return [phone, alert?["title"]?.stringValue ?? "", alert?["body"]?.stringValue ?? "", badge]
    }

    @Test(.timeLimit(.minutes(5))) func everyoneGetsWhatIsTheirsWithTheirBadge() async throws {
        let blocks = try Recipe("A chat").blocks
        #expect(blocks.map(\.language) == ["sql", "sql", "yaml", "sh", "sql", "sql"])
        try await RecipeKitchen.open { kitchen in
            var count = 0
            /// Expects exactly one new push since the last call.
            func expect(_ expected: String..., sourceLocation: SourceLocation = #_sourceLocation) async throws {
                let pushes = try await kitchen.sandbox.awaitReceived(1, after: count)
                count += pushes.count
                let found = try pushes.map(shown)
                #expect(found == [expected], "and nobody else", sourceLocation: sourceLocation)
            }
            for block in blocks.dropLast() { try await kitchen.follow(block, file: "chat.yaml") }
            try await expect("bob", "ann", "Lunch at one?", "1")
            try kitchen.run("INSERT INTO messages (room_id, sender, body) VALUES (7, 'ann', 'Or two?')")
            try await expect("bob", "ann", "Or two?", "2")
            try kitchen.run("INSERT INTO messages (room_id, sender, body) VALUES (7, 'bob', 'One.')")
            try await expect("ann", "bob", "One.", "1")
            try await kitchen.follow(try #require(blocks.last), file: "")
            try kitchen.run("INSERT INTO messages (room_id, sender, body) VALUES (7, 'ann', 'See you')")
            try await expect("bob", "ann", "See you", "1")
            // If all other members have muted or left the room, the message is stored and no push is sent.
            try kitchen.run("UPDATE members SET muted = true WHERE user_id = 'bob'")
            try kitchen.run("INSERT INTO messages (room_id, sender, body) VALUES (7, 'ann', 'Alone')")
            try kitchen.run("INSERT INTO messages (room_id, sender, body) VALUES (7, 'bob', 'Not quite')")
            try await expect("ann", "bob", "Not quite", "2")
            #expect(try sql("SELECT count(*) FROM fanfare.events") == ["5"])
        }
    }
}
