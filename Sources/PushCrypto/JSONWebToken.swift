/// Signed JSON Web Tokens in compact form (RFC 7519, RFC 7515 section 3.1).
public enum JSONWebToken {
    /// A value in a header or claims set: the part of JSON that provider tokens use.
    public enum Value: Equatable, Sendable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
        /// Text.
        case string(String)
        /// A whole number, such as a NumericDate: seconds since 1970.
        case integer(Int64)

        /// Makes text from a literal.
        ///
        /// - Parameter value: the literal.
        public init(stringLiteral value: String) { self = .string(value) }

        /// Makes a number from a literal.
        ///
        /// - Parameter value: the literal.
        public init(integerLiteral value: Int64) { self = .integer(value) }

        var json: String {
            switch self {
            case .string(let text): quoted(text)
            case .integer(let number): String(number)
            }
        }
    }

    /// Creates and signs a token; `alg` is added in front of the header.
    ///
    /// - Parameters:
    ///   - header: further header fields, such as `kid`, in this order.
    ///   - claims: the claims, in this order.
    ///   - key: the key to sign with.
    /// - Returns: `header.claims.signature`. A credential: never logged.
    /// - Throws: ``CryptoError``.
    public static func sign(
        header: KeyValuePairs<String, Value>,
        claims: KeyValuePairs<String, Value>,
        with key: SigningKey
    ) throws(CryptoError) -> String {
        let algorithm: [(String, Value)] = [("alg", .string(key.algorithm.rawValue))]
        let head = object(algorithm + header.map { ($0.key, $0.value) })
        let body = object(claims.map { ($0.key, $0.value) })
        let message = Base64URL.encode(head.utf8) + "." + Base64URL.encode(body.utf8)
        let signature = try key.sign(Array(message.utf8))
        return message + "." + Base64URL.encode(signature)
    }

    private static func object(_ members: [(String, Value)]) -> String {
        "{" + members.map { quoted($0.0) + ":" + $0.1.json }.joined(separator: ",") + "}"
    }
}

/// Returns text as a JSON string literal (RFC 8259 section 7).
private func quoted(_ text: String) -> String {
    var literal = "\""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "\"", "\\": literal += "\\\(scalar)"
        case "\u{0}"..."\u{1F}":
            let digits = String(scalar.value, radix: 16)
            literal += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        default: literal.unicodeScalars.append(scalar)
        }
    }
    return literal + "\""
}
