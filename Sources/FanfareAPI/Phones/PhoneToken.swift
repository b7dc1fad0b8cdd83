internal import FanfareCore
internal import PushCrypto

/// Verifies the tokens that apps' backends sign for phones: JSON Web Tokens (RFC 7519), limited to the features needed.
struct PhoneToken: Sendable {
    /// The reason why a token is refused: a part of a sentence that quotes nothing from the token.
    struct Fault: Error {
        let reason: String

        init(_ reason: String) { self.reason = reason }
    }

    /// How far ahead `exp` may be, in seconds: tokens cannot be revoked, so a leaked one is valid for up to that long.
    static let longestLife: Int64 = 86_400
    /// How far the clocks of the signer and the daemon may differ, in seconds.
    static let leeway: Int64 = 60
    /// The longest token, in bytes.
    static let limit = 4096

    /// The value that `aud` must contain.
    let audience: String
    /// The value of `iss`; nil accepts any.
    let issuer: String?

    /// Verifies a token and returns its user.
    ///
    /// The claims are parsed only after the signature is verified.
    ///
    /// - Parameters:
    ///   - text: the token.
    ///   - keys: the app's keys.
    ///   - now: seconds since 1970.
    /// - Returns: `sub`: 1 to 2048 bytes without U+0000.
    /// - Throws: the reason why the token is refused.
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

    /// Finds the key of a token, and refuses other header members (`jwk`, `jku`, `x5u`, `crit` and so on), which would
    /// let the token choose how it is verified, or with which key.
    private static func key(of header: JSONObject, among keys: PhoneKeySet) throws(Fault) -> PhoneKey {
        for member in header.members where !["alg", "kid", "typ"].contains(member.key) {
            throw Fault("has more in its header than alg, kid and typ")
        }
        guard let type = (header["typ"] ?? "JWT").stringValue, type.lowercased() == "jwt" else {
            throw Fault("has another typ than JWT")
        }
        var id: String?
        if let value = header["kid"] {
            guard let text = value.stringValue else { throw Fault("has a kid that is not a string") }
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
            throw Fault("has a \(name) that is not a time")
        }
        return time
    }

    private static func object(_ part: String, _ name: String) throws(Fault) -> JSONObject {
        let bytes = try bytes(part, name)
        guard let object = (try? JSONValue(parsing: bytes))?.objectValue else {
            throw Fault("has a \(name) that is not a JSON object")
        }
        return object
    }

    /// Decodes base64url in its only canonical form: without padding, in one alphabet, and with no bits left over.
    private static func bytes(_ part: String, _ name: String) throws(Fault) -> [UInt8] {
        guard let bytes = Base64URL.decode(part), Base64URL.encode(bytes) == part else {
            throw Fault("has a \(name) that is not base64url")
        }
        return bytes
    }
}
