internal import Foundation

extension KeyError.Reason {
    /// The problem, to be read after the file's name.
    public var problem: String { told.problem }

    /// The remedy; empty if only another file helps.
    public var mend: String { told.mend }

    /// Whether the file's content is wrong; otherwise the file may be the right one and cannot be read.
    public var needsAnotherFile: Bool {
        switch self {
        case .unreadable, .exposed, .exists, .unwritable, .passwordNeeded, .wrongPassword, .encrypted, .notYetValid:
            false
        default: true
        }
    }

    private var told: (problem: String, mend: String) {
        fileProblem ?? keyProblem ?? accountProblem ?? certificateProblem ?? ("cannot be used", "")
    }

    private var fileProblem: (String, String)? {
        switch self {
        case .missing: ("no such file", "check the path (relative paths start at the configuration file)")
        case .unreadable(let why): ("cannot be read: \(why)", "give the user that runs fanfare read permission")
        case .notAKeyFile:
            ("is not a key file (a folder or device, or larger than 64 KiB)", "name the file with the key")
        case .exists: ("is there already, and is not replaced: a key in it may be in use", "choose another name")
        case .unwritable(let why):
            (
                "cannot be written: \(why)",
                "choose another folder, or give the user that runs fanfare write permission"
            )
        case .exposed(let mode): ("may be used by other users (mode \(String(mode, radix: 8)))", "run chmod 600 on it")
        default: nil
        }
    }

    private var keyProblem: (String, String)? {
        switch self {
        case .notPEM: ("is not PEM (no -----BEGIN …----- line)", "use the file as it was downloaded")
        case .noPrivateKey(let found):
            ("holds \(found) but no private key", "use the file with the PRIVATE KEY block")
        case .encrypted: ("is protected by a password", "decrypt it with: openssl pkey -in FILE -out NEWFILE")
        case .malformed(let reasons):
            ("has a damaged private key (\(reasons.joined(separator: "; ")))", "download or copy it again")
        case .wrongKind(let found, let expected): ("this is \(found) key", "\(expected) is needed here")
        case .wrongCurve(let found, let expected):
            ("this is an EC key on curve \(found)", "\(expected) is needed here")
        default: nil
        }
    }

    private var accountProblem: (String, String)? {
        let mend = "use the service account's key file as Google's console gives it"
        return switch self {
        case .notJSON: ("is not a JSON object", mend)
        case .missingField(let name): ("has no \(name)", mend)
        case .invalidField(let name, let why): ("\(name) \(why)", mend)
        case .notAServiceAccount(let type):
            ("is a credential of type \"\(type)\"", "the key file of a service account is needed here")
        default: nil
        }
    }

    private var certificateProblem: (String, String)? {
        switch self {
        case .notACertificateFile:
            (
                "is neither PEM nor PKCS #12",
                "export certificate and private key as .p12, or give a PEM file with both"
            )
        case .passwordNeeded:
            ("is protected by a password", "put it into a file and set certificate_password_file")
        case .wrongPassword:
            (
                "is protected by another password than the one in certificate_password_file",
                "put the right one there"
            )
        case .unsupportedEncryption(let reasons):
            (
                "is encrypted in a way this OpenSSL does not support (\(reasons.joined(separator: "; ")))",
                "convert it with: openssl pkcs12 -legacy -in FILE -nodes -out NEWFILE.pem"
            )
        case .noCertificate: ("holds no certificate", "export the certificate together with its private key")
        case .keyMismatch:
            ("private key and certificate do not belong together", "export both from the same keychain entry")
        case .malformedCertificate(let reasons):
            ("has a damaged certificate (\(reasons.joined(separator: "; ")))", "export or copy it again")
        default: validityProblem
        }
    }

    private var validityProblem: (String, String)? {
        switch self {
        case .notYetValid(let from): ("the certificate is not valid before \(Self.date(from))", "check the clock")
        case .expired(let end):
            ("the certificate expired at \(Self.date(end))", "renew it on Apple's developer site")
        case .noTopic: ("the certificate names no topic", "use an Apple Push Services certificate")
        case .topicNotCovered(let topic, let covered):
            (
                "the certificate is not for topic \(topic), but for \(covered.joined(separator: ", "))",
                "use the certificate of that bundle id, or fix the topic"
            )
        default: nil
        }
    }

    private static func date(_ seconds: Int64) -> String {
        Date(timeIntervalSince1970: TimeInterval(seconds)).ISO8601Format()
    }
}
