internal import FanfareCore
internal import PushCrypto

/// Looks at tokens that apps' backends sign for phones: JSON Web Tokens (RFC 7519), of which only what is needed is taken.
struct PhoneToken: Sendable {
    /// Why one is refused: a part of a sentence, without a word of the token.
    struct Fault: Error {
        let reason: String

        init(_ reason: String) { self.reason = reason }
    }

    /// How far ahead `exp` may be, in seconds: a token that leaks is of use for that long, since none can be revoked.
    static let longestLife: Int64 = 86_400
    /// How far the clocks of who signs and who looks may differ, in seconds.
    static let leeway: Int64 = 60
    /// The longest token, in bytes.
    static let limit = 4096

    /// What `aud` must have.
    let audience: String
    /// What `iss` must be; nil for anything.
    let issuer: String?

    /// Whether a bearer's token is meant to be one: a token of Fanfare's own has no dots.
    ///
    /// - Parameter text: of any form.
    /// - Returns: whether it looks like one.
    static func isMeant(by text: String) -> Bool { text.utf8.count { $0 == UInt8(ascii: ".") } == 2 }

    /// Finds out whose phone comes with a token.
    ///
    /// What it says is read only once it is known who signed it.
    ///
    /// - Parameters:
    ///   - text: the token.
    ///   - keys: the app's.
    ///   - now: seconds since 1970.
    /// - Returns: `sub`: 1 to 2048 bytes without U+0000.
    /// - Throws: why it is refused.
    func subject(of text: String, by keys: PhoneKeySet, now: Int64) throws(Fault) -> String {
        guard text.utf8.count <= Self.limit else { throw Fault("is longer than \(Self.limit) bytes") }
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        guard parts.count == 3 else { throw Fault("has not three parts") }
        let key = try Self.key(of: Self.object(parts[0], "header"), among: keys)
        guard key.hasSigned(Array("\(parts[0]).\(parts[1])".utf8), try Self.bytes(parts[2], "signature")) else {
            throw Fault("is not signed by its key")
        }
        let claims = try Self.object(parts[1], "payload")
        try checkTimes(claims, now: now)
        try checkPlace(claims)
        guard let subject = claims["sub"]?.stringValue, (1...2048).contains(subject.utf8.count),
            !subject.utf8.contains(0)
        else { throw Fault("has no sub of 1 to 2048 bytes") }
        return subject
    }

    /// What else a header may say (`jwk`, `jku`, `x5u`, `crit` and so on) would have somebody else choose how to look, and where.
    private static func key(of header: JSONObject, among keys: PhoneKeySet) throws(Fault) -> PhoneKey {
        for member in header.members where !["alg", "kid", "typ"].contains(member.key) {
            throw Fault("has more in its header than alg, kid and typ")
        }
        guard let type = (header["typ"] ?? "JWT").stringValue, type.lowercased() == "jwt" else {
            throw Fault("has another typ than JWT")
        }
        var id: String?
        if let value = header["kid"] {
            guard let text = value.stringValue else { throw Fault("has a kid that is no string") }
            id = text
        }
        guard let key = keys.key(id) else {
            throw Fault(id == nil ? "has no kid, and there are several keys" : "has a kid that no key of the app has")
        }
        guard header["alg"]?.stringValue == key.algorithm.rawValue else {
            throw Fault("has another alg than its key")
        }
        return key
    }

    private func checkTimes(_ claims: JSONObject, now: Int64) throws(Fault) {
        let (now, leeway) = (Double(now), Double(Self.leeway))
        guard let end = try Self.time("exp", claims) else { throw Fault("has no exp") }
        guard now < end + leeway else { throw Fault("has expired (exp)") }
        guard end <= now + Double(Self.longestLife) + leeway else {
            throw Fault("expires in more than \(Self.longestLife / 3600) hours (exp)")
        }
        if let begin = try Self.time("nbf", claims), begin > now + leeway { throw Fault("is not valid yet (nbf)") }
        if let made = try Self.time("iat", claims), made > now + leeway { throw Fault("was made in the future (iat)") }
    }

    private func checkPlace(_ claims: JSONObject) throws(Fault) {
        let audiences = claims["aud"].map { $0.arrayValue ?? [$0] } ?? []
        guard audiences.contains(where: { $0.stringValue == audience }) else {
            throw Fault("has another audience (aud)")
        }
        guard issuer == nil || claims["iss"]?.stringValue == issuer else { throw Fault("has another issuer (iss)") }
    }

    private static func time(_ name: String, _ claims: JSONObject) throws(Fault) -> Double? {
        guard let value = claims[name] else { return nil }
        // 1e13 s are beyond every calendar, and far from where a double loses seconds.
        guard let time = value.numberValue.flatMap({ Double($0.literal) }), (0...1e13).contains(time) else {
            throw Fault("has a \(name) that is no time")
        }
        return time
    }

    private static func object(_ part: String, _ name: String) throws(Fault) -> JSONObject {
        let bytes = try bytes(part, name)
        guard let object = (try? JSONValue(parsing: bytes))?.objectValue else {
            throw Fault("has a \(name) that is no JSON object")
        }
        return object
    }

    /// There is one way to write bytes: without padding, in one alphabet, and with no bits left over.
    private static func bytes(_ part: String, _ name: String) throws(Fault) -> [UInt8] {
        guard let bytes = Base64URL.decode(part), Base64URL.encode(bytes) == part else {
            throw Fault("has a \(name) that is no base64url")
        }
        return bytes
    }
}
