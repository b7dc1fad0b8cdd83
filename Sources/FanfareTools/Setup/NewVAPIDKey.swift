public import FanfareCore
internal import PushCrypto

/// A new VAPID key pair, which identifies an application server to push services.
public struct NewVAPIDKey: Sendable {
    /// The location of the private key.
    public enum Place: Sendable {
        /// In a new file of mode 600.
        case file(String)
        /// In this value only; the caller must store it.
        case here(pem: String)
    }

    /// The public key in the form of browsers' `applicationServerKey`.
    public let publicKey: String
    /// The location of the private key.
    public let place: Place

    /// Makes a key pair.
    ///
    /// - Parameter file: the path for the private key, which must not exist; nil to get the key as text.
    /// - Throws: ``ToolError`` if the file cannot be created; no file is left then.
    public init(file: String?) throws(ToolError) {
        do {
            let key = try VAPIDKey.generate()
            publicKey = key.publicKey
            if let file {
                try key.write(pemFile: file)
                place = .file(file)
            } else {
                place = .here(pem: try key.privateKeyPEM())
            }
        } catch {
            throw ToolError(error)
        }
    }

    /// The pair as JSON; secret if the private key is not in a file.
    public var json: JSONValue {
        switch place {
        case .file(let path): ["public_key": .string(publicKey), "private_key_file": .string(path)]
        case .here(let pem): ["public_key": .string(publicKey), "private_key": .string(pem)]
        }
    }
}
