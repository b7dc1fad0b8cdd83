import FanfareTools

extension NewVAPIDKey {
    /// The pair as text for people; secret if the private key is not in a file.
    var text: String {
        let lines = "public key, the applicationServerKey of browsers: \(publicKey)"
        return switch place {
        case .file(let path): "private key, for vapid_key_file: \(path)\n\(lines)"
        case .here(let pem): pem + lines
        }
    }
}
