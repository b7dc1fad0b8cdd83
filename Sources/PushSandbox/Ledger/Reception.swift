import Foundation
import NIOCore
import NIOHPACK

/// A complete request and its result, to be recorded in the ledger.
struct Reception {
    let request: PushRequest
    let connection: Int
    let stream: Int
    let provider: SimulatedService
    let target: String
    let identity: String?
    /// The status of the response; 0 if there is none.
    let status: Int
    let reason: String?
    let fault: String?
    /// Whether the request counts as processed without a response: the client cannot know.
    let isAmbiguous: Bool
    /// Whether it is a push to a device.
    let delivers: Bool
    /// The text shown for the body; nil for the body itself.
    let shownBody: [UInt8]?
    /// An error of the sender that the response does not report.
    let problem: String?
    /// How the device presents the push; nil if that is not checked.
    var presentation: String?
    /// The membership of a topic that it changes; nil if it changes none.
    let membership: String?
}

extension JSONLine {
    /// Appends a line of `received.jsonl`; `ReceivedPush` describes the keys.
    mutating func append(_ reception: Reception, n: Int, authorization: String?) {
        let head = reception.request.head
        append(raw: #"{"n":"#)
        append(integer: n)
        append(raw: #","at_ns":"#)
        append(integer: reception.request.atNanoseconds)
        append(raw: #","at_unix_us":"#)
        append(integer: reception.request.unixMicroseconds)
        append(raw: #","connection":"#)
        append(integer: reception.connection)
        append(raw: #","stream":"#)
        append(integer: reception.stream)
        append(raw: #","provider":"#)
        append(string: reception.provider.rawValue)
        append(raw: #","environment":"#)
        append(string: reception.request.environment.rawValue)
        append(raw: #","method":"#)
        append(string: head.method)
        append(raw: #","path":"#)
        append(string: head.path)
        append(raw: #","target":"#)
        append(string: reception.target)
        append(raw: #","headers":{":authority":"#)
        append(string: head.authority)
        appendFields(of: head, authorization: authorization)
        append(raw: "}")
        if let shown = reception.shownBody {
            appendBody(shown)
        } else {
            appendBody(reception.request.body.readableBytesView)
        }
        appendResult(of: reception)
        append(raw: "}\n")
    }

    private mutating func appendResult(of reception: Reception) {
        append(raw: #","status":"#)
        if reception.status == 0 { append(raw: "null") } else { append(integer: reception.status) }
        append(raw: #","reason":"#)
        if let reason = reception.reason { append(string: reason) } else { append(raw: "null") }
        if let fault = reception.fault {
            append(raw: #","fault":"#)
            append(string: fault)
        }
        if let problem = reception.problem {
            append(raw: #","problem":"#)
            append(string: problem)
        }
        if let presentation = reception.presentation {
            append(raw: #","presentation":"#)
            append(string: presentation)
        }
    }

    private mutating func appendFields(of head: RequestHead, authorization: String?) {
        var written: [String] = []
        for (name, value, _) in head.fields where name.utf8.first != UInt8(ascii: ":") {
            guard !written.contains(name) else { continue }
            written.append(name)
            append(raw: ",")
            append(string: name)
            append(raw: ":")
            let values = head.fields[name]
            switch name {
            case "authorization": append(string: authorization ?? "")
            default: append(string: values.count > 1 ? values.joined(separator: ", ") : value)
            }
        }
    }

    private mutating func appendBody(_ bytes: some Collection<UInt8>) {
        if String(validating: bytes, as: UTF8.self) != nil {
            append(raw: #","body":"#)
            append(escaping: bytes)
        } else {
            append(raw: #","body_base64":"#)
            append(string: Data(bytes).base64EncodedString())
        }
    }
}
