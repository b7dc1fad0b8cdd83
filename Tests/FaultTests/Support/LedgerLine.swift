import TestKit

/// The numbers of a ledger line that the suite needs; there may be millions.
struct LedgerLine: Sendable {
    /// The prefix of its token, which identifies the audience.
    let audience: UInt64
    let delivery: Delivery
    let fate: ReceivedFate
    /// The number of the daemon that sent it, by its port; 0 if unknown.
    let daemon: UInt16
    let nanoseconds: UInt64

    /// Reads a push; nil for other requests.
    ///
    /// - Parameters:
    ///   - push: the line.
    ///   - sender: returns the number of a daemon by the port in the request's authority and by the time.
    init?(_ push: ReceivedPush, sender: (Substring, UInt64) -> UInt16) {
        guard let body = push.body?.utf8 else { return nil }
        let token =
            push.provider == "fcm"
            ? Self.text(#""token":""#, in: body)
            : push.path.utf8.lastIndex(of: UInt8(ascii: "/")).map { slash in
                push.path[slash...].dropFirst()
            }
        guard let token, let event = Self.text(#""n":""#, in: body).flatMap({ Int($0) }),
            let audience = UInt64(token.prefix(Audience.prefixLength), radix: 16),
            let device = Int(token.suffix(8), radix: 16)
        else { return nil }
        self.audience = audience
        delivery = Delivery(event: event, device: device)
        nanoseconds = UInt64(push.nanoseconds)
        let port = push.headers[":authority"]?.split(separator: ":").last
        daemon = port.map { sender($0, UInt64(push.nanoseconds)) } ?? 0
        fate =
            switch push.status {
            case 200?: .accepted
            case let status?: .rejected(UInt16(status))
            // A GOAWAY counts only with a last stream below the request's.
            case nil: ["refuse", "goaway"].contains(push.fault) ? .notProcessed : .unanswered
            }
    }

    /// Returns a string member by its key, at any depth; the suite's own messages need no JSON parser.
    private static func text(_ key: String, in body: String.UTF8View) -> Substring? {
        guard let key = body.firstRange(of: key.utf8) else { return nil }
        let rest = body[key.upperBound...]
        return rest.firstIndex(of: UInt8(ascii: "\"")).map { Substring(rest[..<$0]) }
    }
}

/// The lines of the ledger read so far.
struct LedgerMemory: Sendable {
    /// The number of the last line.
    var last = 0
    /// The lines by audience, in order of arrival.
    var lines: [UInt64: [LedgerLine]] = [:]
}

/// The ports of daemons over time: an hour of faults starts so many daemons that ports are reused.
struct DaemonRegister: Sendable {
    private var lives: [Int: [(from: UInt64, daemon: UInt16)]] = [:]
    private var last: UInt16 = 0

    /// Records that a new daemon uses a port from now on.
    ///
    /// - Returns: the daemon's number, from 1.
    mutating func add(port: Int) -> UInt16 {
        last += 1
        lives[port, default: []].append((monotonicNanoseconds(), last))
        return last
    }

    /// Returns the daemon that used a port at a time; 0 for none.
    func daemon(port: Int, at nanoseconds: UInt64) -> UInt16 {
        lives[port]?.last { $0.from <= nanoseconds }?.daemon ?? 0
    }
}
