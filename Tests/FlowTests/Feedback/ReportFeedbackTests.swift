import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareFeedback
@testable import FanfareStages
@testable import FanfareStore

/// What feedback hooks are told of the reports of devices.
@Suite(.database)
struct ReportFeedbackTests {
    private let world: World

    init() throws {
        world = try World()
    }

    private func items(_ codes: [Int16] = [1002, 1003], app: String? = nil) throws -> [String] {
        _ = try world.connection.run(SQL.numberFeedback())
        let rows = try world.connection.run(
            SQL.readFeedback(FeedbackPlace(number: 1, position: 0), nil, nil, codes, app)
        )
        return rows.compactMap { row in
            guard case .item(let item) = row else { return nil }
            let json = FeedbackBody.json(item)
            #expect(json["outcome"] == nil && json["attempt"] == nil && json["rule"] == "chat")
            return [json["type"], json["user_id"], json["action"]].compactMap { $0?.stringValue }.joined(separator: " ")
        }
    }

    @Test func openedPushesAndActionsAreToldOnce() throws {
        let ann = try world.device("ab00", user: "ann")
        let bob = try world.device("ab01", user: "bob")
        try world.rule("chat", event: "chat", to: #"{"users": "$.u"}"#, #""report": true"#)
        let event = try world.emit("chat", #"{"u": ["ann", "bob"]}"#)
        try world.plan()
        try world.answer()
        // No hook wants it yet.
        try world.report(2, of: bob, event: event)
        try world.foldReports()
        _ = try world.connection.run(SQL.putFeedbackHook("crm", [1002, 1003], nil))
        for _ in 0..<2 {
            try world.report(0, of: ann, event: event)
            try world.report(2, of: ann, event: event)
            try world.report(2, of: bob, event: event)
            try world.report(3, of: ann, event: event, action: "reply", text: "hello")
            try world.foldReports()
        }
        #expect(try items().sorted() == ["push.action ann reply", "push.opened ann"])
        #expect(try items([1002]) == ["push.opened ann"])
        #expect(try items(app: "other") == [])
        #expect(try items(app: "shop").count == 2)
        // A place in the middle of a row stands for the whole row.
        let first = try world.connection.number("SELECT min(number) FROM fanfare.feedback")
        let rest = try world.connection.run(
            SQL.readFeedback(FeedbackPlace(number: first, position: 1), nil, nil, [1002, 1003], nil)
        )
        #expect(rest.filter { if case .item = $0 { true } else { false } }.count == 1)
        _ = try world.connection.query("SELECT fanfare.forget_user('shop', 'ann')")
        #expect(try items() == [])
    }

    @Test func anAppThatKeepsCountsOnlyTellsNothing() throws {
        let ann = try world.device("ab00", user: "ann")
        _ = try world.connection.query("SELECT fanfare.put_policy('shop', '{\"report_devices\": false}')")
        try world.rule("chat", event: "chat", to: #"{"users": "$.u"}"#, #""report": true"#)
        _ = try world.connection.run(SQL.putFeedbackHook("crm", [1002, 1003], nil))
        let event = try world.emit("chat", #"{"u": "ann"}"#)
        try world.plan()
        try world.answer()
        try world.report(2, of: ann, event: event)
        try world.report(3, of: ann, event: event, action: "reply")
        try world.foldReports()
        #expect(try world.reportCounts() == ["2:1", "3:1"])
        #expect(try items() == [])
    }
}
