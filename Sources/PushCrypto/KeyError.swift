/// The reason why a file with a key, a certificate or a service account cannot be used.
///
/// Names the file and the remedy; never contains key material.
public struct KeyError: Error, Equatable, CustomStringConvertible {
    /// The kind of problem.
    public enum Reason: Equatable, Sendable {
        /// The file does not exist.
        case missing
        /// The process may not read it, or reading failed.
        case unreadable(String)
        /// It is a folder, a pipe, or too large for a key.
        case notAKeyFile
        /// The file to be created exists already.
        case exists
        /// The new file cannot be created.
        case unwritable(String)
        /// Its mode gives access to its group or others.
        case exposed(mode: UInt32)
        /// It contains no PEM block.
        case notPEM
        /// Its PEM blocks are of another kind, such as a certificate.
        case noPrivateKey(found: String)
        /// The private key is protected by a password.
        case encrypted
        /// OpenSSL cannot decode it.
        case malformed([String])
        /// It is a private key of another type.
        case wrongKind(found: String, expected: String)
        /// It is an elliptic curve key on another curve.
        case wrongCurve(found: String, expected: String)

        /// It is not a JSON object.
        case notJSON
        /// A required JSON member is missing.
        case missingField(String)
        /// A JSON member has an invalid value.
        case invalidField(String, String)
        /// It is a JSON credential of another type.
        case notAServiceAccount(type: String)

        /// It is neither PEM nor PKCS #12.
        case notACertificateFile
        /// It is protected by a password, and none was configured.
        case passwordNeeded
        /// It is protected by another password than the configured one.
        case wrongPassword
        /// It is protected by a method that this OpenSSL does not support.
        case unsupportedEncryption([String])
        /// It contains no certificate.
        case noCertificate
        /// None of its certificates matches its private key.
        case keyMismatch
        /// A certificate in it cannot be decoded.
        case malformedCertificate([String])
        /// The certificate is not valid before a time, in seconds since 1970.
        case notYetValid(from: Int64)
        /// The certificate was valid until a time, in seconds since 1970.
        case expired(at: Int64)
        /// The certificate names no topic: it is not for APNs.
        case noTopic
        /// The certificate is for other topics.
        case topicNotCovered(String, covered: [String])
    }

    /// The kind of problem.
    public let reason: Reason

    /// The file, or another name for the source of the key.
    public let source: String

    /// One line for the operator, with the remedy.
    public var description: String {
        let mend = reason.mend.isEmpty ? "" : "; \(reason.mend)"
        return "\(source): \(reason.problem)\(mend)"
    }
}
