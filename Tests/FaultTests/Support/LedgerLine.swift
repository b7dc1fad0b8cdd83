import TestKit

/// One line of the ledger, as far as the suite looks at it: numbers only, since there may be millions.
struct LedgerLine: Sendable {
    /// The beginning of its token, which tells the audience.
    let audience: UInt64
    let delivery: Delivery
    let fate: ReceivedFate
    /// Number of the daemon that sent it, by the port it took; 0 where that is not known.
    let daemon: UInt16
    let nanoseconds: UInt64

    /// Reads a push; nil for what is none of the suite's.
    ///
    /// - Parameters:
    ///   - push: the line.
    ///   - sender: finds the number of a daemon by the port in the request's authority and by the moment.
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
            // GOAWAY counts here only where the last stream is below.
            case nil: ["refuse", "goaway"].contains(push.fault) ? .notProcessed : .unanswered
            }
    }

    /// A string member after its key, wherever it is; our own messages need no more of JSON.
    private static func text(_ key: String, in body: String.UTF8View) -> Substring? {
        guard let key = body.firstRange(of: key.utf8) else { return nil }
        let rest = body[key.upperBound...]
        return rest.firstIndex(of: UInt8(ascii: "\"")).map { Substring(rest[..<$0]) }
    }
}

/// What was read of the ledger so far.
struct LedgerMemory: Sendable {
    /// Number of the last line.
    var last = 0
    /// By audience, in order of arrival.
    var lines: [UInt64: [LedgerLine]] = [:]
}

/// Which daemon had which port when: an hour of faults takes more daemons than there is a need of ports.
struct DaemonRegister: Sendable {
    private var lives: [Int: [(from: UInt64, daemon: UInt16)]] = [:]
    private var last: UInt16 = 0

    /// Notes that a new daemon has a port from now on.
    ///
    /// - Returns: the daemon's number, from 1.
    mutating func add(port: Int) -> UInt16 {
        last += 1
        lives[port, default: []].append((monotonicNanoseconds(), last))
        return last
    }

    /// Who had a port at a moment; 0 for nobody.
    func daemon(port: Int, at nanoseconds: UInt64) -> UInt16 {
        lives[port]?.last { $0.from <= nanoseconds }?.daemon ?? 0
    }
}
