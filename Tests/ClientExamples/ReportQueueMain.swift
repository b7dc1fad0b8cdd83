import Foundation

/// Uses the report queue of the example for iPhones with the server of queue.mjs: `ADDRESS FOLDER`.
///
/// The server answers with the status that the key names.
@main
enum ReportQueueMain {
    static func main() async {
        let arguments = CommandLine.arguments
        guard arguments.count == 3, let address = URL(string: arguments[1]) else { exit(64) }
        func queue() -> ReportQueue { ReportQueue(folder: URL(fileURLWithPath: arguments[2]), address: address) }
        func kept() -> [String] {
            let all = (try? FileManager.default.contentsOfDirectory(atPath: arguments[2])) ?? []
            return all.filter { $0.hasSuffix(".json") }
        }

        // Without a key nothing is sent, and another process finds what was kept.
        queue().add(PushReport(handle: "h1", kind: .received))
        queue().add(PushReport(handle: "h1", kind: .action, action: "reply", text: "Gracias ✓"))
        queue().add(nil)
        await queue().send()
        precondition(kept().count == 2)
        queue().key = "17.status-401"
        await queue().send()
        precondition(queue().key == nil && kept().count == 2)
        queue().key = "17.status-202"
        await queue().send()
        precondition(kept().isEmpty)

        // 200 are kept, and the oldest "received" go first. Reports older than a week are not sent.
        for number in 0..<150 {
            let at = Date() - 1000 + Double(number)
            queue().add(PushReport(handle: "n\(number)", kind: .received, at: at))
            queue().add(PushReport(handle: "n\(number)", kind: .opened, at: at))
        }
        queue().add(PushReport(handle: "old", kind: .opened, at: Date() - 8 * 86_400))
        precondition(kept().count == 200 && kept().filter { $0.contains("-received-") }.count == 50)
        await queue().send()
        precondition(kept().isEmpty)

        // A report that is refused does not hold up the others.
        for handle in ["h2", "bad", "h3"] { queue().add(PushReport(handle: handle, kind: .opened)) }
        await queue().send()
        precondition(kept().isEmpty)

        // After 503 nothing is sent for two minutes.
        queue().add(PushReport(handle: "h4", kind: .opened))
        queue().key = "17.status-503"
        await queue().send()
        queue().key = "17.status-202"
        await queue().send()
        precondition(kept().count == 1)
        queue().clear()
        precondition(queue().key == nil && kept().isEmpty)
    }
}
