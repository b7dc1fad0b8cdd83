import Foundation
import NIOHTTP1

/// One request to the control interface.
struct ControlRequest: Sendable {
    let method: HTTPMethod
    let path: String
    let body: [UInt8]
    private let query: [String: String]

    init(method: HTTPMethod, uri: String, body: [UInt8]) {
        let components = URLComponents(string: uri)
        self.method = method
        self.body = body
        path = components?.path ?? uri
        query = Dictionary(
            (components?.queryItems ?? []).map { ($0.name, $0.value ?? "") },
            uniquingKeysWith: { _, last in last }
        )
    }

    /// Returns a required parameter.
    func text(_ name: String) throws(SandboxError) -> String {
        guard let text = query[name], !text.isEmpty else { throw SandboxError(.invalidOption, "\(name): is missing") }
        return text
    }

    /// Returns an integer parameter, 0 or more; nil if it is missing.
    func integer(_ name: String) throws(SandboxError) -> Int? {
        guard let text = query[name] else { return nil }
        guard let number = Int(text), number >= 0, number < Int.max else {
            throw SandboxError(.invalidOption, "\(name): must be an integer from 0 on")
        }
        return number
    }

    /// Returns a time in seconds; nil if it is missing.
    func seconds(_ name: String) throws(SandboxError) -> Double? {
        guard let text = query[name] else { return nil }
        guard let number = Double(text), (0...3600).contains(number) else {
            throw SandboxError(.invalidOption, "\(name): must be a number of seconds from 0 to 3600")
        }
        return number
    }
}

/// The response to a request to the control interface.
struct ControlAnswer: Sendable {
    enum Body: Sendable {
        case bytes([UInt8])
        case lines(LedgerExtent, limit: Int)
    }

    let status: HTTPResponseStatus
    var contentType = "application/json"
    var body = Body.bytes([])

    static func json(_ value: some Encodable) throws -> ControlAnswer {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return ControlAnswer(status: .ok, body: .bytes(Array(try encoder.encode(value)) + [UInt8(ascii: "\n")]))
    }

    static func failure(_ status: HTTPResponseStatus, _ message: String) -> ControlAnswer {
        var line = JSONLine()
        line.append(raw: #"{"error":"#)
        line.append(string: message)
        line.append(raw: "}\n")
        return ControlAnswer(status: status, body: .bytes(line.bytes))
    }
}
