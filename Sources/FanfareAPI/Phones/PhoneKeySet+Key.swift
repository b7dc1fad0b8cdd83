internal import FanfareCore
internal import PushCrypto

extension PhoneKeySet {
    /// Reads one key.
    ///
    /// - Parameter members: a JSON Web Key.
    /// - Returns: the key, which is strong and meant for signatures.
    /// - Throws: the reason why it is refused, worded to follow “key 1”.
    static func key(_ members: JSONObject) throws(PhoneKeyError) -> PhoneKey {
        try checkUse(members)
        let id = try text("kid", members)
        if let id, !(1...256).contains(id.utf8.count) {
            throw PhoneKeyError("has a kid that is empty or longer than 256 bytes", mend: "Give it a shorter one.")
        }
        switch try text("kty", members) {
        case "oct": return try secret(id, members)
        case "EC": return try p256(id, members)
        case "OKP": return try ed25519(id, members)
        case "RSA":
            throw PhoneKeyError("is an RSA key, which is not taken", mend: "Sign by ES256, EdDSA or HS256.")
        default:
            throw PhoneKeyError("has no kty that is known", mend: "Use oct, EC (P-256) or OKP (Ed25519).")
        }
    }

    private static func checkUse(_ members: JSONObject) throws(PhoneKeyError) {
        let operations = members["key_ops"]?.arrayValue?.compactMap(\.stringValue) ?? ["verify"]
        guard try text("use", members) ?? "sig" == "sig", operations.contains("verify") else {
            throw PhoneKeyError("is not for signatures (use, key_ops)", mend: "Take another key, with use sig.")
        }
    }

    private static func secret(_ id: String?, _ members: JSONObject) throws(PhoneKeyError) -> PhoneKey {
        try check(.hs256, members)
        let secret = try bytes("k", members)
        guard secret.count >= shortestSecret, Set(secret).count > 1 else {
            throw PhoneKeyError(
                "is weak: a secret has at least \(shortestSecret) random bytes",
                mend: "Make one by `openssl rand -base64 32`, in the alphabet of base64url."
            )
        }
        return PhoneKey(id: id, secret: secret)
    }

    private static func p256(_ id: String?, _ members: JSONObject) throws(PhoneKeyError) -> PhoneKey {
        guard try text("crv", members) == "P-256" else {
            throw PhoneKeyError("is on another curve than P-256", mend: "Make one for ES256.")
        }
        try check(.es256, members)
        try checkIsPublic(members)
        let (x, y) = (try bytes("x", members), try bytes("y", members))
        guard x.count == 32, y.count == 32, let key = PhoneKey(id: id, x: x, y: y) else {
            throw PhoneKeyError("is not a point on P-256", mend: "Export the public key again.")
        }
        return key
    }

    private static func ed25519(_ id: String?, _ members: JSONObject) throws(PhoneKeyError) -> PhoneKey {
        guard try text("crv", members) == "Ed25519" else {
            throw PhoneKeyError("is on another curve than Ed25519", mend: "Make one for EdDSA.")
        }
        try check(.edDSA, members)
        try checkIsPublic(members)
        let x = try bytes("x", members)
        guard x.count == 32, let key = PhoneKey(id: id, ed25519: x) else {
            throw PhoneKeyError(
                "is not a public key of Ed25519, or is one that lets anyone sign",
                mend: "Make another."
            )
        }
        return key
    }

    private static func check(_ algorithm: PhoneKey.Algorithm, _ members: JSONObject) throws(PhoneKeyError) {
        guard try text("alg", members) ?? algorithm.rawValue == algorithm.rawValue else {
            throw PhoneKeyError(
                "has an alg that does not fit it, or is not taken",
                mend: "A key of this kind has alg \(algorithm.rawValue), or none."
            )
        }
    }

    /// Refuses private keys: a copy here would be one more that can be stolen.
    private static func checkIsPublic(_ members: JSONObject) throws(PhoneKeyError) {
        guard members["d"] == nil else {
            throw PhoneKeyError("is a private key", mend: "Leave out d: the backend alone needs the private half.")
        }
    }

    private static func text(_ name: String, _ members: JSONObject) throws(PhoneKeyError) -> String? {
        guard let value = members[name] else { return nil }
        guard let text = value.stringValue else {
            throw PhoneKeyError("has a \(name) that is \(value.kindName), not a string", mend: "Write it as a string.")
        }
        return text
    }

    private static func bytes(_ name: String, _ members: JSONObject) throws(PhoneKeyError) -> [UInt8] {
        guard let text = try text(name, members), let bytes = Base64URL.decode(text) else {
            throw PhoneKeyError("has no \(name) in base64url", mend: "Export it as a JSON Web Key.")
        }
        return bytes
    }
}
