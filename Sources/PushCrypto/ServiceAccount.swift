internal import Foundation

/// A Google service account, as its JSON file describes it: who signs for an FCM project.
///
/// Safe to share between threads.
public struct ServiceAccount: Sendable {
    /// The project that messages are sent for.
    public let projectID: String

    /// The account's name, `iss` of its tokens.
    public let clientEmail: String

    /// Which of the account's keys this is; nil if the file does not say.
    public let privateKeyID: String?

    /// Where assertions are exchanged for access tokens; an https URL.
    public let tokenURI: String

    private let key: SigningKey

    /// The scope that sending needs.
    public static let messagingScope = "https://www.googleapis.com/auth/firebase.messaging"

    /// The longest that an assertion may be valid.
    public static let longestLifetime = Duration.seconds(60 * 60)

    /// Reads a service account's JSON file, which only its owner may read.
    ///
    /// - Parameters:
    ///   - path: the file, as Google's console gives it.
    ///   - guardedFolders: folders below which the file's mode is not looked at.
    /// - Returns: the account.
    /// - Throws: ``KeyError``, which says how to fix it.
    public static func load(jsonFile path: String, guardedFolders: [String] = []) throws(KeyError) -> ServiceAccount {
        let file = try KeyFile.read(path, guardedFolders: guardedFolders)
        return try file.withBytes { bytes throws(KeyError) in try parse(json: bytes, source: path) }
    }

    /// Decodes a service account.
    ///
    /// - Parameters:
    ///   - json: the file's content.
    ///   - source: where it came from, for errors.
    /// - Returns: the account.
    /// - Throws: ``KeyError``.
    public static func parse(json: borrowing [UInt8], source: String) throws(KeyError) -> ServiceAccount {
        let data = Data(copy json)
        guard let object = try? JSONSerialization.jsonObject(with: data) as? [String: Any] else {
            throw KeyError(reason: .notJSON, source: source)
        }
        return try ServiceAccount(ServiceAccountFields(object: object, source: source))
    }

    private init(_ fields: ServiceAccountFields) throws(KeyError) {
        let type = try fields.text("type")
        guard type == "service_account" else {
            throw KeyError(reason: .notAServiceAccount(type: type), source: fields.source)
        }
        projectID = try fields.text("project_id")
        clientEmail = try fields.text("client_email")
        privateKeyID = fields.optionalText("private_key_id")
        tokenURI = try fields.text("token_uri")
        guard tokenURI.lowercased().hasPrefix("https://") else {
            throw KeyError(reason: .invalidField("token_uri", "must begin with https://"), source: fields.source)
        }
        key = try SigningKey.parse(
            pem: PEMText.text(fields.text("private_key")),
            expecting: .rs256,
            source: fields.source + ", private_key"
        )
    }

    /// Makes the assertion that is exchanged for an access token (RFC 7523 section 2.1).
    ///
    /// - Parameters:
    ///   - issuedAt: now, in seconds since 1970. Google refuses what the account's clock sees too early or too late.
    ///   - lifetime: how long it is valid; whole seconds, at most ``longestLifetime``.
    ///   - scope: what the access token is for.
    /// - Returns: the assertion, a JSON Web Token. A credential: never logged.
    /// - Throws: ``CryptoError``.
    public func assertion(
        issuedAt: Int64,
        lifetime: Duration = longestLifetime,
        scope: String = messagingScope
    ) throws(CryptoError) -> String {
        precondition(lifetime > .zero && lifetime <= Self.longestLifetime, "an assertion is valid for an hour at most")
        let claims: KeyValuePairs<String, JSONWebToken.Value> = [
            "iss": .string(clientEmail), "scope": .string(scope), "aud": .string(tokenURI),
            "iat": .integer(issuedAt), "exp": .integer(issuedAt + lifetime.components.seconds),
        ]
        guard let privateKeyID else {
            return try JSONWebToken.sign(header: ["typ": "JWT"], claims: claims, with: key)
        }
        return try JSONWebToken.sign(header: ["typ": "JWT", "kid": .string(privateKeyID)], claims: claims, with: key)
    }
}

/// The members of a service account's file.
private struct ServiceAccountFields {
    let object: [String: Any]
    let source: String

    /// A member that must be there, and be text.
    func text(_ name: String) throws(KeyError) -> String {
        guard let value = object[name] else { throw KeyError(reason: .missingField(name), source: source) }
        guard let text = value as? String else {
            throw KeyError(reason: .invalidField(name, "must be text"), source: source)
        }
        guard !text.isEmpty else { throw KeyError(reason: .invalidField(name, "is empty"), source: source) }
        return text
    }

    /// A member that may be missing.
    func optionalText(_ name: String) -> String? {
        guard let text = object[name] as? String, !text.isEmpty else { return nil }
        return text
    }
}
