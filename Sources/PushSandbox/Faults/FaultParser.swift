import Foundation

/// Parses a JSON list of faults; `Fault` describes the format.
enum FaultParser {
    /// Parses a whole list.
    ///
    /// - Parameter json: the list of faults.
    /// - Returns: the faults in their order.
    /// - Throws: `SandboxError` naming index and field of the first mistake.
    static func parse(_ json: [UInt8]) throws(SandboxError) -> [Fault] {
        guard let value = JSONParser.parse(json) else {
            throw SandboxError(.malformedFaults, "faults: not JSON; expected a list of objects")
        }
        guard case .array(let entries) = value else {
            throw SandboxError(.malformedFaults, "faults: must be a list of objects")
        }
        var faults: [Fault] = []
        for (index, entry) in entries.enumerated() {
            faults.append(try fault(entry, place: "faults[\(index)]"))
        }
        return faults
    }

    private static func fault(_ entry: JSONValue, place: String) throws(SandboxError) -> Fault {
        var fields = try JSONFields(entry, place: place)
        let provider = try fields.choice("provider", SimulatedService.self)
        var fault = Fault(action: try action(&fields, of: provider))
        if fault.action.isAboutConnections {
            guard provider == nil else { throw fields.failure("provider", "is unknown here") }
            try fields.finish()
            return fault
        }
        if let value = fields.value("match") {
            try match(value, place: "\(place).match", into: &fault)
        }
        fault.provider = provider
        fault.environment = try fields.choice("environment", Environment.self)
        fault.skip = try fields.integer("skip", in: 0...Int64(Int32.max)).map(Int.init) ?? 0
        fault.timesPerToken = try fields.integer("times", in: 1...Int64(Int32.max)).map(Int.init)
        fault.total = try fields.integer("total", in: 1...Int64(Int32.max)).map(Int.init)
        try fields.finish()
        return fault
    }

    private static func match(_ value: JSONValue, place: String, into fault: inout Fault) throws(SandboxError) {
        var fields = try JSONFields(value, place: place)
        if let pattern = try fields.string("token") {
            guard let expression = try? NSRegularExpression(pattern: pattern) else {
                throw fields.failure("token", "is not a regular expression")
            }
            fault.token = expression
        }
        fault.share = try fields.fraction("share")
        if let salt = try fields.string("salt") {
            guard fault.share != nil else { throw fields.failure("salt", "needs share beside it") }
            fault.salt = salt
        }
        try fields.finish()
    }

    private static func action(
        _ fields: inout JSONFields,
        of provider: SimulatedService?
    ) throws(SandboxError) -> FaultAction {
        guard let kind = try fields.choice("do", ActionName.self) else {
            throw fields.failure("do", "is missing")
        }
        switch kind {
        case .status: return .status(try status(&fields, of: provider))
        case .goaway: return .goAway(try goAway(&fields))
        case .refuse: return .refuse
        case .reset: return .reset(code: try resetCode(&fields))
        case .silence: return .silence
        case .slow:
            guard let delay = try fields.integer("ms", in: 1...600_000) else {
                throw fields.failure("ms", "is missing")
            }
            return .slow(milliseconds: delay)
        case .close: return .close(atHeaders: try fields.choice("at", ClosePoint.self) == .headers)
        case .streamLimit:
            guard let value = try fields.integer("value", in: 0...100_000) else {
                throw fields.failure("value", "is missing")
            }
            return .streamLimit(Int(value))
        case .window:
            guard let value = try fields.integer("value", in: 0...Int64(Int32.max)) else {
                throw fields.failure("value", "is missing")
            }
            return .window(Int(value))
        }
    }

    private static func status(
        _ fields: inout JSONFields,
        of provider: SimulatedService?
    ) throws(SandboxError) -> StatusFault {
        var fault = StatusFault()
        fault.reason = try fields.string("reason")
        fault.status = try fields.integer("status", in: 200...599).map(Int.init)
        guard fault.status != nil || tellsStatus(fault.reason, of: provider) else {
            let owner = provider.map { "\($0.rawValue)'s" } ?? "any provider's"
            throw fields.failure("status", "is missing, and reason is none of \(owner) that would tell it")
        }
        fault.body = try fields.string("body")
        fault.location = try fields.string("location")
        if fields.has("timestamp_ms"), fields.has("timestamp_age_ms") {
            throw fields.failure("timestamp_ms", "excludes timestamp_age_ms")
        }
        if case .null = fields.peek("timestamp_ms") {
            _ = fields.value("timestamp_ms")
            fault.timestamp = .none
        } else if let fixed = try fields.integer("timestamp_ms", in: 0...Int64(1 << 53)) {
            fault.timestamp = .fixed(milliseconds: fixed)
        } else if let age = try fields.integer("timestamp_age_ms", in: -(1 << 53)...Int64(1 << 53)) {
            fault.timestamp = .age(milliseconds: age)
        }
        switch fields.value("retry_after") {
        case nil: break
        case .integer(let seconds) where seconds >= 0: fault.retryAfter = String(seconds)
        case .string(let text): fault.retryAfter = text
        default: throw fields.failure("retry_after", "must be seconds or a date as text")
        }
        return fault
    }

    /// Returns whether the provider, or any if none is named, has a status for a reason.
    private static func tellsStatus(_ reason: String?, of provider: SimulatedService?) -> Bool {
        guard let reason else { return false }
        return (provider.map { [$0] } ?? SimulatedService.allCases).contains { $0.status(of: reason) != nil }
    }

    private static func goAway(_ fields: inout JSONFields) throws(SandboxError) -> GoAwayFault {
        var fault = GoAwayFault()
        fault.lastStream = try fields.choice("last_stream", GoAwayFault.LastStream.self) ?? .below
        fault.answers = try fields.bool("answer") ?? (fault.lastStream != .below)
        guard !fault.answers || fault.lastStream != .below else {
            throw fields.failure("answer", "a request above the last stream is never answered")
        }
        switch fields.value("debug") {
        case nil: break
        case .string(let text): fault.debug = text
        case .object(let members): fault.debug = JSONValue.object(members).json
        default: throw fields.failure("debug", "must be an object or text")
        }
        let delay = try fields.integer("close_after_ms", in: 0...600_000)
        fault.closeAfterMilliseconds = delay ?? (fault.lastStream == .above ? 100 : 0)
        return fault
    }

    private static func resetCode(_ fields: inout JSONFields) throws(SandboxError) -> Int? {
        switch fields.value("code") {
        case nil: return nil
        case .integer(let code) where (0...Int64(UInt32.max)).contains(code): return Int(code)
        case .string(let name):
            if let code = errorCodes.firstIndex(of: name) { return code }
            fallthrough
        default:
            throw fields.failure("code", "must be a number or one of \(errorCodes.joined(separator: ", "))")
        }
    }

    /// The error codes of RFC 9113 section 7; the index is the code.
    private static let errorCodes = [
        "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
        "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
        "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
    ]

    private enum ActionName: String, CaseIterable {
        case status, goaway, refuse, reset, silence, slow, close, window
        case streamLimit = "stream_limit"
    }

    private enum ClosePoint: String, CaseIterable {
        case body, headers
    }
}
