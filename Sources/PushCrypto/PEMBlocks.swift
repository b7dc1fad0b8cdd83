/// The labels of the PEM blocks in a file (RFC 7468), looked at before OpenSSL is, whose errors do not say what a file is.
struct PEMBlocks {
    private let labels: [String]
    private let hasEncryptedHeader: Bool

    init(_ bytes: borrowing [UInt8]) {
        // Only the marker lines become Strings: those are freed without being wiped.
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

    /// Why there is no private key to decode here, if there is none.
    var obstacle: KeyError.Reason? {
        guard !labels.isEmpty else { return .notPEM }
        if labels.contains("ENCRYPTED PRIVATE KEY") || hasEncryptedHeader { return .encrypted }
        if labels.contains(where: { $0.hasSuffix("PRIVATE KEY") }) { return nil }
        return .noPrivateKey(found: labels.map { $0.lowercased() }.joined(separator: ", "))
    }
}
