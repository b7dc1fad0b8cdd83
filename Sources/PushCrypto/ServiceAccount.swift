internal import Foundation

/// A Google service account from its JSON file, which signs for an FCM project.
///
/// Safe to share between threads.
public struct ServiceAccount: Sendable {
    /// The project of the messages.
    public let projectID: String

    /// The account's name, the `iss` of its tokens.
    public let clientEmail: String

    /// The id of the private key; nil if the file has none.
    public let privateKeyID: String?

    /// The https URL where assertions are exchanged for access tokens.
    public let tokenURI: String

    private let key: SigningKey

    /// The OAuth scope that sending requires.
    public static let messagingScope = "https://www.googleapis.com/auth/firebase.messaging"

    /// The maximum lifetime of an assertion.
    public static let longestLifetime = Duration.seconds(60 * 60)

    /// Reads a service account's JSON file, which only its owner may read.
    ///
    /// - Parameters:
    ///   - path: the file, as downloaded from Google's console.
    ///   - guardedFolders: folders below which the file's mode is not checked.
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
    ///   - source: the file's name, for errors.
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

    /// Creates the assertion that is exchanged for an access token (RFC 7523 section 2.1).
    ///
    /// - Parameters:
    ///   - issuedAt: the current time in seconds since 1970. Google rejects a time that is too early or too late by its
    ///     clock.
    ///   - lifetime: the lifetime; whole seconds, at most ``longestLifetime``.
    ///   - scope: the scope of the access token.
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

/// The members of a service account's JSON file.
private struct ServiceAccountFields {
    let object: [String: Any]
    let source: String

    /// Returns a required text member.
    func text(_ name: String) throws(KeyError) -> String {
        guard let value = object[name] else { throw KeyError(reason: .missingField(name), source: source) }
        guard let text = value as? String else {
            throw KeyError(reason: .invalidField(name, "must be text"), source: source)
        }
        guard !text.isEmpty else { throw KeyError(reason: .invalidField(name, "is empty"), source: source) }
        return text
    }

    /// Returns an optional text member.
    func optionalText(_ name: String) -> String? {
        guard let text = object[name] as? String, !text.isEmpty else { return nil }
        return text
    }
}
