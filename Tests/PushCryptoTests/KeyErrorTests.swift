import Foundation
import PushCrypto
import TestKit
import Testing

struct KeyErrorTests {
    let openssl: OpenSSL

    init() throws { openssl = try OpenSSL() }

    @Test func missingFile() {
        #expect(refusal(of: openssl.path("none.p8")) == .missing)
    }

    @Test func folderInsteadOfFile() {
        #expect(refusal(of: openssl.folder) == .notAKeyFile)
    }

    @Test func unreadableFile() throws {
        // A loop of links, since a test that runs as root can read files of any mode.
        try FileManager.default.createSymbolicLink(atPath: openssl.path("loop"), withDestinationPath: "loop")
        #expect(refusal(of: openssl.path("loop")) == .unreadable("Too many levels of symbolic links"))
    }

    @Test(arguments: [0o640, 0o604, 0o620, 0o601])
    func fileOthersMayUse(_ mode: Int) async throws {
        let path = try await openssl.makeKey("key.p8", p256)
        try openssl.setMode("key.p8", mode)
        #expect(refusal(of: path) == .exposed(mode: UInt32(mode)))
        #expect(refusal(of: path, guardedFolders: [openssl.folder]) == nil)
        #expect(refusal(of: path, guardedFolders: [openssl.folder + "/"]) == nil)
        #expect(refusal(of: path, guardedFolders: ["", "/", openssl.folder + "x", "/run/secrets"]) != nil)
    }

    @Test func linkOutOfAGuardedFolderIsNotGuarded() async throws {
        let path = try await openssl.makeKey("key.p8", p256)
        try openssl.setMode("key.p8", 0o644)
        let guarded = openssl.path("secrets")
        try FileManager.default.createDirectory(atPath: guarded, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(atPath: guarded + "/link", withDestinationPath: path)
        #expect(refusal(of: guarded + "/link", guardedFolders: [guarded]) == .exposed(mode: 0o644))
        #expect(refusal(of: guarded + "/../key.p8", guardedFolders: [guarded]) == .exposed(mode: 0o644))
    }

    @Test func filesThatAreNoPrivateKey() async throws {
        #expect(refusal(of: try openssl.write("empty", [])) == .notPEM)
        #expect(refusal(of: try openssl.write("text", Array("hello\n".utf8))) == .notPEM)
        _ = try await openssl.makeKey("key.p8", p256)
        try await openssl.run(["pkey", "-in", "key.p8", "-pubout", "-out", "public.pem"])
        try openssl.setMode("public.pem", 0o600)
        #expect(refusal(of: openssl.path("public.pem")) == .noPrivateKey(found: "public key"))
    }

    @Test func damagedKey() throws {
        let text = "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEGCCqGSM49\n-----END PRIVATE KEY-----\n"
        guard case .malformed(let reasons) = refusal(of: try openssl.write("cut.p8", Array(text.utf8))) else {
            Issue.record("a damaged key was not recognised")
            return
        }
        #expect(!reasons.isEmpty)
    }

    @Test func encryptedKeys() async throws {
        _ = try await openssl.makeKey("key.p8", p256)
        try await openssl.run(["pkcs8", "-topk8", "-in", "key.p8", "-out", "new.pem", "-passout", "pass:marked"])
        try await openssl.run(["ec", "-in", "key.p8", "-aes128", "-out", "old.pem", "-passout", "pass:marked"])
        for name in ["new.pem", "old.pem"] {
            try openssl.setMode(name, 0o600)
            #expect(refusal(of: openssl.path(name)) == .encrypted)
        }
    }

    @Test func keysOfAnotherKindAreNamed() async throws {
        #expect(try await message(of: openssl.makeKey("rsa", rsa2048)).contains("this is an RSA key; an EC P-256 key"))
        #expect(try await message(of: openssl.makeKey("p384", p384)).contains("on curve P-384; an EC P-256 key"))
        #expect(try await message(of: openssl.makeKey("ed", ["-algorithm", "ED25519"])).contains("ED25519"))
        let short = ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:1024"]
        #expect(try await message(of: openssl.makeKey("short", short), expecting: .rs256).contains("1024-bit RSA"))
        #expect(
            try await message(of: openssl.makeKey("ec", p256), expecting: .rs256).contains("this is an EC key; an RSA")
        )
    }

    @Test func everyMessageNamesTheFileAndNoSecret() throws {
        let secret = "MIGHAgEAMBMGByqGSM49marked"
        let text = "-----BEGIN PRIVATE KEY-----\n\(secret)\n-----END PRIVATE KEY-----\n"
        let path = try openssl.write("marked.p8", Array(text.utf8))
        let message = message(of: path)
        #expect(message.contains(path) && !message.contains("marked\n") && !message.contains("MIGH"))
    }

    private func refusal(
        of path: String,
        expecting algorithm: SigningKey.Algorithm = .es256,
        guardedFolders: [String] = []
    ) -> KeyError.Reason? {
        do throws(KeyError) {
            _ = try SigningKey.load(pemFile: path, expecting: algorithm, guardedFolders: guardedFolders)
            return nil
        } catch {
            return error.reason
        }
    }

    private func message(of path: String, expecting algorithm: SigningKey.Algorithm = .es256) -> String {
        do throws(KeyError) {
            _ = try SigningKey.load(pemFile: path, expecting: algorithm)
            return ""
        } catch {
            return error.description
        }
    }
}
