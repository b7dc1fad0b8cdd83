/// Why a key file cannot be used.
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
    }

    /// What is wrong.
    public let reason: Reason

    /// The file, or another name of where the key came from.
    public let source: String

    /// One line for the operator, with the mend.
    public var description: String {
        "\(source): \(problem)"
    }

    private var problem: String {
        switch reason {
        case .missing:
            "no such file; check the path (relative paths start at the configuration file)"
        case .unreadable(let why):
            "cannot be read: \(why); give the user that runs fanfare read permission"
        case .notAKeyFile:
            "is not a key file (a folder or device, or larger than 64 KiB)"
        case .exposed(let mode):
            "may be used by other users (mode \(String(mode, radix: 8))); run chmod 600 on it"
        case .notPEM:
            "is not PEM (no -----BEGIN …----- line); use the file as it was downloaded"
        case .noPrivateKey(let found):
            "holds \(found) but no private key; use the file with the PRIVATE KEY block"
        case .encrypted:
            "is protected by a password; decrypt it with: openssl pkey -in FILE -out NEWFILE"
        case .malformed(let reasons):
            "has a damaged private key (\(reasons.joined(separator: "; "))); download or copy it again"
        case .wrongKind(let found, let expected):
            "this is \(found) key; \(expected) is needed here"
        case .wrongCurve(let found, let expected):
            "this is an EC key on curve \(found); \(expected) is needed here"
        }
    }
}
