import FanfareCore
import Programs
import TestKit
import Testing

@testable import DaemonKit

/// The recipe for replies works as printed, except that the backend listens on a free port.
@Suite(.database) struct ReplyRecipeTests {
    @Test(.timeLimit(.minutes(5))) func whatIsTypedOnAPhoneBecomesARow() async throws {
        var blocks = try Recipe("A reply becomes a row").blocks
        let languages = ["sql", "yaml", "sh", "python", "sh", "sql", "sql", "sh", "sql"]
        #expect(blocks.map(\.language) == languages)
        try await RecipeKitchen.open { kitchen in
            for block in blocks[..<3] { try await kitchen.follow(block, file: "reply.yaml") }
            blocks[3].text = blocks[3].text.replacing("8443", with: "0")
            try await kitchen.follow(blocks[3], file: "replies.py")
            let backend = try await kitchen.begin(blocks[4])
            let address = try #require(await line(with: "https://localhost:", in: backend.output))
            blocks[5].text = blocks[5].text.replacing("https://localhost:8443/replies", with: address)
            for block in blocks[5...6] { try await kitchen.follow(block, file: "") }

            let push = try #require(try await kitchen.sandbox.awaitReceived(1).first)
            let handle = try JSONValue(parsing: push.body ?? "")["fanfare_report"]?.stringValue
            let key = try sql("SELECT fanfare.report_key(id) FROM fanfare.devices WHERE user_id = 'ann'")[0]
            let variables = [
                "FANFARE_URL": kitchen.api, "HANDLE": try #require(handle), "REPORT_KEY": try #require(key),
            ]
            // A phone repeats a report whose response was lost.
            for _ in 0..<2 { try await kitchen.follow(blocks[7], file: "", variables) }
            let answers = "SELECT concat_ws(' ', room_id, sender, body) FROM public.messages WHERE reply_id IS NOT NULL"
            try TestDatabase.current.connect().waitUntil("SELECT EXISTS (\(answers))")
            // All that was sent has an outcome, so nothing else is on its way to the backend.
            let isOver = "SELECT bool_and(outcome = 'accepted') AND count(*) = 2 FROM fanfare.deliveries"
            try TestDatabase.current.connect().waitUntil(isOver)
            #expect(try sql(answers) == ["7 ann On my way"])
            try await kitchen.follow(blocks[8], file: "")
            await backend.stop()
        }
    }
}
