internal import COpenSSL

/// The labels of the PEM blocks in a file (RFC 7468), read before OpenSSL, whose errors do not say what a file
/// contains.
struct PEMBlocks {
    private let labels: [String]
    private let hasEncryptedHeader: Bool

    init(_ bytes: borrowing [UInt8]) {
        // Only the marker lines become Strings, because Strings are freed without being wiped.
        var labels: [String] = []
        var encrypted = false
        var start = 0
        for end in 0...bytes.count where end == bytes.count || bytes[end] == UInt8(ascii: "\n") {
            let line = bytes[start..<end]
            start = end + 1
            if line.starts(with: "-----BEGIN ".utf8) {
                labels.append(String(decoding: line.dropFirst(11).prefix { $0 != UInt8(ascii: "-") }, as: UTF8.self))
            } else if line.starts(with: "Proc-Type: 4,ENCRYPTED".utf8) {
                encrypted = true
            }
        }
        self.labels = labels
        hasEncryptedHeader = encrypted
    }

    /// The reason why there is no private key that can be decoded without a password; nil if there is one.
    var obstacle: KeyError.Reason? {
        guard !labels.isEmpty else { return .notPEM }
        if isEncrypted { return .encrypted }
        return hasPrivateKey ? nil : .noPrivateKey(found: found)
    }

    /// Whether the file has no block.
    var isEmpty: Bool { labels.isEmpty }

    /// Whether a private key is protected by a password.
    var isEncrypted: Bool { labels.contains("ENCRYPTED PRIVATE KEY") || hasEncryptedHeader }

    /// Whether there is a private key, protected or not.
    var hasPrivateKey: Bool { labels.contains { $0.hasSuffix("PRIVATE KEY") } }

    /// The labels as text.
    var found: String { labels.map { $0.lowercased() }.joined(separator: ", ") }
}

/// Decodes PEM with OpenSSL.
enum PEMReader {
    /// Decodes the first private key.
    ///
    /// - Parameters:
    ///   - pem: the blocks.
    ///   - password: the password with its final zero; nil if none must be needed.
    /// - Returns: the key, or nil with the reasons in the error queue.
    static func privateKey(_ pem: borrowing [UInt8], password: [CChar]? = nil) -> OpaquePointer? {
        ERR_clear_error()
        return unsafe withBIO(pem) { bio in
            guard var password else {
                // Without a callback OpenSSL would prompt for a password on the terminal.
                return unsafe PEM_read_bio_PrivateKey(bio, nil, { _, _, _, _ in -1 }, nil)
            }
            return unsafe password.withUnsafeMutableBytes { text in
                unsafe PEM_read_bio_PrivateKey(bio, nil, nil, text.baseAddress)
            }
        }
    }

    /// Decodes all certificates, in order.
    ///
    /// - Returns: the certificates, or nil if one of them cannot be decoded.
    static func certificates(_ pem: borrowing [UInt8]) -> [X509Certificate]? {
        ERR_clear_error()
        return unsafe withBIO(pem) { bio in
            var certificates: [X509Certificate] = []
            while let certificate = unsafe PEM_read_bio_X509(bio, nil, { _, _, _, _ in -1 }, nil) {
                certificates.append(unsafe X509Certificate(owning: certificate))
            }
            // OpenSSL reports the end of the file as a missing start line.
            let code = ERR_peek_last_error()
            guard ERR_GET_REASON(code) == PEM_R_NO_START_LINE else { return nil }
            ERR_clear_error()
            return certificates
        }
    }

    private static func withBIO<Result>(_ bytes: borrowing [UInt8], _ body: (OpaquePointer) -> Result?) -> Result? {
        unsafe bytes.withUnsafeBytes { buffer in
            guard let bio = unsafe BIO_new_mem_buf(buffer.baseAddress, Int32(buffer.count)) else { return nil }
            defer { unsafe BIO_free(bio) }
            return unsafe body(bio)
        }
    }
}
