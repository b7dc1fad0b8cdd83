import Foundation
import PushCrypto

/// Signs provider tokens with the sandbox's key or another one, by the sender's code.
struct TestCredential {
    var key: SigningKey

    init(folder: String, keyID: String = "SIMKEY0001") throws {
        key = try SigningKey.load(pemFile: "\(folder)/AuthKey_\(keyID).p8", expecting: .es256)
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
        let signature = try key.sign(Array(signed.utf8))
        return "bearer \(signed).\(base64URL(Data(der ? ecdsaDER(fromRaw: signature) : signature)))"
    }

    private func base64URL(_ data: Data) -> String {
        data.base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}

/// Converts a raw ECDSA signature to DER.
func ecdsaDER(fromRaw raw: [UInt8]) -> [UInt8] {
    let integers = [raw.prefix(32), raw.suffix(32)].flatMap { half in
        var bytes = Array(half.drop { $0 == 0 })
        if bytes.isEmpty || bytes[0] >= 0x80 { bytes.insert(0, at: 0) }
        return [0x02, UInt8(bytes.count)] + bytes
    }
    return [0x30, UInt8(integers.count)] + integers
}
