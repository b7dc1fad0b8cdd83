import Foundation
import TestKit

extension OpenSSL {
    /// Verifies a signature with SHA-256 by a private key's public half.
    func verify(_ signature: [UInt8], of message: [UInt8], by key: String) async throws {
        try await run(["pkey", "-in", key, "-pubout", "-out", "public.pem"])
        try await verify(signature, of: message, byPublic: "public.pem")
    }

    /// Verifies a signature with SHA-256 by a public key.
    func verify(_ signature: [UInt8], of message: [UInt8], byPublic key: String) async throws {
        try write("message", message)
        try write("signature", signature)
        try await run(["dgst", "-sha256", "-verify", key, "-signature", "signature", "message"])
    }

    /// Writes a P-256 point as a public key in PEM.
    func writePublicKey(_ name: String, point: [UInt8]) async throws {
        // The SubjectPublicKeyInfo prefix of RFC 5480.
        let head: [UInt8] = [
            0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86, 0x48,
            0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
        ]
        try write(name + ".der", head + point)
        try await run(["pkey", "-pubin", "-inform", "DER", "-in", name + ".der", "-out", name])
    }

    /// Returns the content that a command writes to the file after its last argument.
    func output(_ arguments: [String]) async throws -> [UInt8] {
        try await run(arguments + ["output"])
        return try read("output")
    }
}

let p256 = OpenSSL.p256
let p384 = ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"]
let rsa2048 = ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"]

/// Converts a raw ECDSA signature to DER, as `openssl` requires.
func ecdsaDER(fromRaw raw: [UInt8]) -> [UInt8] {
    let integers = [raw.prefix(32), raw.suffix(32)].map { half in
        var bytes = Array(half.drop { $0 == 0 })
        if bytes.isEmpty || bytes[0] >= 0x80 { bytes.insert(0, at: 0) }
        return [0x02, UInt8(bytes.count)] + bytes
    }
    let content = integers[0] + integers[1]
    return [0x30, UInt8(content.count)] + content
}

func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { String(format: "%02x", $0) }.joined()
}
