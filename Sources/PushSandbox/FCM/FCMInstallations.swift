import Threading

/// The simulated apps that registered at FCM, by Firebase installation id (FID).
///
/// FCM delivers to an installation either by its FID or by its registration token, `FID:…`, and never by both: whichever
/// the app's SDK registered last. An installation that no test has registered takes both.
final class FCMInstallations: Sendable {
    /// The address that an installation has.
    enum Address: String, CaseIterable, Sendable {
        /// Its registration tokens.
        case token
        /// Its FID.
        case fid
        /// None: the app was removed.
        case none
    }

    /// The number of installations that are kept; enough for a simulation, in about 100 MB.
    static let most = 2_000_000

    private let addresses = Locked<[String: Address]>([:])

    /// Registers installations; false if there would be too many, and nothing has changed.
    func register(_ ids: [String], as address: Address) -> Bool {
        addresses.withLock { addresses in
            guard addresses.count + ids.count <= Self.most || ids.allSatisfy({ addresses[$0] != nil }) else {
                return false
            }
            for id in ids { addresses[id] = address }
            return true
        }
    }

    /// Returns whether FCM finds a message's device.
    func reaches(_ target: FCMMessage.Target) -> Bool {
        switch target {
        case .installation(let id):
            // The service answers a malformed FID, and a token in its place, as a FID that is gone.
            return Self.isWellFormed(id) && address(of: id).map { $0 == .fid } ?? true
        case .token(let token):
            let parts = token.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            let id = String(parts[0])
            // The service takes a FID as a token too.
            return address(of: id).map { $0 == (parts.count == 1 ? .fid : .token) } ?? true
        case .topic, .condition: return true
        }
    }

    private func address(of id: String) -> Address? { addresses.withLock { $0[id] } }

    private static func isWellFormed(_ id: String) -> Bool {
        !id.isEmpty
            && id.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}

/// The body of `POST /installations`: simulated apps that register at FCM, or are removed.
///
/// | member | value |
/// |---|---|
/// | `name` | 1 to 200 characters of the base64url alphabet: the FID |
/// | `count`, `first` | with `count`, that number of installations, at most 10000, called `NAME-FIRST`, `NAME-(FIRST+1)` and so on |
/// | `address` | `"fid"`, `"token"`, or `"none"` for an app that was removed: the address that FCM delivers to from now on |
struct InstallationRequest {
    private static let mostAtOnce: Int64 = 10_000

    let ids: [String]
    let address: FCMInstallations.Address

    init(_ body: [UInt8]) throws(SandboxError) {
        guard let value = JSONParser.parse(body) else {
            throw SandboxError(.invalidOption, "installations: not JSON; expected an object")
        }
        var fields = try JSONFields(value, place: "installations", code: .invalidOption)
        guard let name = try fields.string("name"), name.wholeMatch(of: /[A-Za-z0-9_-]{1,200}/) != nil else {
            throw fields.failure("name", "must be 1 to 200 letters, digits, - and _")
        }
        let first = try fields.integer("first", in: 0...Int64(Int32.max)) ?? 0
        if let count = try fields.integer("count", in: 1...Self.mostAtOnce) {
            ids = (first..<first + count).map { "\(name)-\($0)" }
        } else {
            ids = [name]
        }
        guard let address = try fields.choice("address", FCMInstallations.Address.self) else {
            throw fields.failure("address", "must be fid, token or none")
        }
        self.address = address
        try fields.finish()
    }
}
