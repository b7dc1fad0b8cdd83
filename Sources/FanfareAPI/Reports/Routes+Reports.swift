internal import FanfareCore
internal import FanfareHTTP
internal import FanfareRecords
internal import FanfareTools
internal import Foundation
internal import HTTPTypes
internal import PushCrypto

/// Who sent a request with reports.
struct ReportSender: Sendable {
    let app: String
    let device: Int64
    /// The device's report key; empty if ``user`` proves who sent it.
    let key: [UInt8]
    /// The user of the phone's token; empty if ``key`` proves who sent it.
    let user: String
}

extension Routes {
    /// The most reports in one request.
    private static let reportLimit = 100
    /// The longest text of a reply, in bytes.
    private static let textLimit = 1024

    /// Returns the route of what devices report.
    ///
    /// - Parameter queue: stores the reports.
    /// - Returns: the route.
    static func reports(_ queue: ReportQueue) -> [Route] {
        [
            Route(.post, "/v1/apps/{app}/reports", .registrar, forPhones: true, forReports: true) { call in
                var fields = try call.fields()
                let device = try fields.text(orNil: "device_id")
                let listed = try fields.list("reports")
                try fields.end()
                guard (1...reportLimit).contains(listed.count) else {
                    throw Fields.refusal("has \(listed.count) reports, not 1 to \(reportLimit)", at: "/reports")
                }
                let sender = try sender(of: call, device: device)
                let reports = try listed.enumerated().map { try report($1, at: "/reports/\($0)") }
                guard try await queue.store(reports, of: sender) else { throw Self.voidKey }
                call.trust()
                return Answer(.accepted, ["accepted": JSONValue(Int64(reports.count))])
            }
        ]
    }

    private static var voidKey: Problem {
        var problem = Problem(.unauthorized, "the report key is void", hint: "Register the device again.")
        problem.headers[.wwwAuthenticate] = "Report"
        return problem
    }

    private static func sender(of call: Call, device: String?) throws -> ReportSender {
        let app = call.name("app")
        if let key = call.reportKey {
            guard device == nil || device == "\(key.device)" else {
                throw Fields.refusal("is not the device of the report key", at: "/device_id", hint: "Leave it out.")
            }
            return ReportSender(app: app, device: key.device, key: key.bytes, user: "")
        }
        guard let phone = call.phone else { throw Self.voidKey }
        guard let device else { throw Fields.refusal("is missing", at: "/device_id") }
        guard let id = Int64(device), id > 0 else { throw Fields.refusal("is not an id", at: "/device_id") }
        return ReportSender(app: app, device: id, key: [], user: phone.id)
    }

    /// Returns a time of RFC 3339 in microseconds since 1970; nil for another text, and for a day that does not exist.
    private static func time(_ text: String) -> Int64? {
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: text.contains("."))
        guard text.utf8.count <= 40, let date = try? Date(text.uppercased(), strategy: style),
            let day = try? Date(text.prefix(10) + "T00:00:00Z", strategy: .iso8601),
            // A parser turns February 30 into March 2.
            day.ISO8601Format().hasPrefix(text.prefix(10))
        else { return nil }
        return Int64(date.timeIntervalSince1970 * 1_000_000)
    }

    private static func isForActionsOnly(at pointer: String) -> Problem {
        Fields.refusal("is for the kind action only", at: pointer, hint: "Leave it out, or send the kind action.")
    }

    private static func report(_ value: JSONValue, at pointer: String) throws -> DeviceReport {
        var fields = try Fields(value, at: pointer)
        let handle = try fields.text("handle")
        let name = try fields.text("kind")
        let action = try fields.text(orNil: "action")
        let text = try fields.text(orNil: "text")
        let time = try fields.text(orNil: "at")
        try fields.end()
        guard let kind = DeviceReport.Kind(named: name) else {
            let kinds = DeviceReport.Kind.allCases.map { "\($0)" }.joined(separator: ", ")
            throw Fields.refusal("is none of the kinds", at: "\(pointer)/kind", hint: "Known are \(kinds).")
        }
        guard (kind == .action) == (action != nil) else {
            throw kind == .action
                ? Fields.refusal(
                    "is missing",
                    at: "\(pointer)/action",
                    hint: "Name the button or reply that was chosen."
                )
                : Self.isForActionsOnly(at: "\(pointer)/action")
        }
        if let action, !(1...64).contains(action.utf8.count) {
            throw Fields.refusal("has not 1 to 64 bytes", at: "\(pointer)/action", hint: "Use a short identifier.")
        }
        if let text, kind != .action || text.utf8.count > textLimit {
            throw kind == .action
                ? Fields.refusal("has more than \(textLimit) bytes", at: "\(pointer)/text", hint: "Cut it.")
                : Self.isForActionsOnly(at: "\(pointer)/text")
        }
        let at = try time.map { text in
            guard let at = Self.time(text) else {
                throw Fields.refusal("is not a time", at: "\(pointer)/at", hint: "Write 2026-11-26T08:00:00Z.")
            }
            return at
        }
        // A handle that cannot be decoded is not distinguished from one that does not verify.
        let bytes = handle.utf8.count <= 64 ? Base64URL.decode(handle) ?? [] : []
        return DeviceReport(handle: bytes, kind: kind, action: action ?? "", text: text ?? "", at: at)
    }
}
