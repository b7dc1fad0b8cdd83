import Foundation

extension Data {
    /// Decodes base64url without padding (RFC 4648 section 5, RFC 7515 section 2); padding is rejected.
    init?(base64URL text: Substring) {
        guard
            !text.utf8.contains(where: { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "=") }
            )
        else { return nil }
        var base64 = text.replacing("-", with: "+").replacing("_", with: "/")
        base64.append(contentsOf: repeatElement("=", count: (4 - base64.utf8.count % 4) % 4))
        self.init(base64Encoded: String(base64))
    }

    /// Base64url without padding.
    var base64URL: String {
        base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}
