public import FanfareCore
internal import PushCrypto

/// A key pair that identifies an application server to push services, just made.
public struct NewVAPIDKey: Sendable {
    /// Where the private key is.
    public enum Place: Sendable {
        /// In a new file of mode 600.
        case file(String)
        /// Nowhere yet: the holder of this value has to keep it.
        case here(pem: String)
    }

    /// The public key as browsers take it for `applicationServerKey`.
    public let publicKey: String
    /// Where the private key is.
    public let place: Place

    /// Makes a key pair.
    ///
    /// - Parameter file: where to write the private key; there must be nothing of that name yet. Nil to get it as text.
    /// - Throws: ``ToolError`` if the file cannot be made; nothing is left then.
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

    /// The pair as JSON; a secret where the private key is in no file.
    public var json: JSONValue {
        switch place {
        case .file(let path): ["public_key": .string(publicKey), "private_key_file": .string(path)]
        case .here(let pem): ["public_key": .string(publicKey), "private_key": .string(pem)]
        }
    }

    /// The pair for people; a secret where the private key is in no file.
    public var text: String {
        let lines = "public key, the applicationServerKey of browsers: \(publicKey)"
        return switch place {
        case .file(let path): "private key, for vapid_key_file: \(path)\n\(lines)"
        case .here(let pem): pem + lines
        }
    }
}
