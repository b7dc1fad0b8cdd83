import SandboxCrypto

/// The Google service account of the simulated project.
struct ServiceAccount: Sendable {
    let projectID: String
    let keyID: String
    let key: RSAKey
    let keyPEM: String

    /// The account's address: the `iss` of assertions.
    var clientEmail: String { "fanfare@\(projectID).iam.gserviceaccount.com" }

    /// Returns the file that Google's console offers for download.
    ///
    /// - Parameter tokenURI: the URL of the token endpoint.
    /// - Returns: the file as JSON text.
    func file(tokenURI: String) -> String {
        let fields = [
            ("type", "service_account"),
            ("project_id", projectID),
            ("private_key_id", keyID),
            ("private_key", keyPEM + "\n"),
            ("client_email", clientEmail),
            ("client_id", "100000000000000000000"),
            ("token_uri", tokenURI),
        ]
        return "{\n" + fields.map { "  \(JSONValue.quoted($0.0)): \(JSONValue.quoted($0.1))" }.joined(separator: ",\n")
            + "\n}\n"
    }
}
