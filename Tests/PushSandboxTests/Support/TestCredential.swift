import Crypto
import Foundation

/// Signs provider tokens with the key a sandbox wrote, or with another one.
struct TestCredential {
    var key: P256.Signing.PrivateKey

    init(folder: String, keyID: String = "SIMKEY0001") throws {
        key = try P256.Signing.PrivateKey(
            pemRepresentation: String(contentsOfFile: "\(folder)/AuthKey_\(keyID).p8", encoding: .utf8)
        )
    }

    func authorization(at seconds: Int64) throws -> String {
        try authorization(claims: #"{"iss":"SIMTEAM001","iat":\#(seconds)}"#)
    }

    func authorization(
        header: String = #"{"alg":"ES256","kid":"SIMKEY0001"}"#,
        claims: String,
        der: Bool = false
    ) throws -> String {
        let signed = base64URL(Data(header.utf8)) + "." + base64URL(Data(claims.utf8))
        let signature = try key.signature(for: Data(signed.utf8))
        return "bearer \(signed).\(base64URL(der ? signature.derRepresentation : signature.rawRepresentation))"
    }

    private func base64URL(_ data: Data) -> String {
        data.base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}
