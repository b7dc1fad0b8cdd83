/// Why a file with a key, a certificate or a service account cannot be used.
///
/// Names the file and the mend; never holds key material.
public struct KeyError: Error, Equatable, CustomStringConvertible {
    /// What is wrong.
    public enum Reason: Equatable, Sendable {
        /// There is no such file.
        case missing
        /// The process may not read it, or reading failed.
        case unreadable(String)
        /// It is a folder, a pipe, or too large for a key.
        case notAKeyFile
        /// There is a file already where a new one was to be made.
        case exists
        /// A new file cannot be made there.
        case unwritable(String)
        /// Its mode lets group or others in.
        case exposed(mode: UInt32)
        /// It has no PEM block.
        case notPEM
        /// Its PEM blocks are something else, such as a certificate.
        case noPrivateKey(found: String)
        /// The private key is protected by a password.
        case encrypted
        /// OpenSSL cannot decode it.
        case malformed([String])
        /// It is a private key of another kind.
        case wrongKind(found: String, expected: String)
        /// It is an elliptic curve key on another curve.
        case wrongCurve(found: String, expected: String)

        /// It is no JSON object.
        case notJSON
        /// A JSON member that has to be there is not.
        case missingField(String)
        /// A JSON member has a value that is of no use.
        case invalidField(String, String)
        /// It is a JSON credential of another type.
        case notAServiceAccount(type: String)

        /// It is neither PEM nor PKCS #12.
        case notACertificateFile
        /// It is protected by a password, and none was given.
        case passwordNeeded
        /// It is protected by another password than the one given.
        case wrongPassword
        /// It is protected by a method that this OpenSSL does not know.
        case unsupportedEncryption([String])
        /// It holds no certificate.
        case noCertificate
        /// None of its certificates belongs to its private key.
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

    /// What is wrong.
    public let reason: Reason

    /// The file, or another name of where the key came from.
    public let source: String

    /// One line for the operator, with the mend.
    public var description: String {
        let mend = reason.mend.isEmpty ? "" : "; \(reason.mend)"
        return "\(source): \(reason.problem)\(mend)"
    }
}
