import Foundation
import TestKit
import Testing

@testable import PushCrypto

struct APNsCertificateTests {
    let openssl: OpenSSL

    /// Creates `ca.pem`, and `key.pem` with `cert.pem` for three topics; passwords are `marked`.
    init() async throws {
        openssl = try OpenSSL()
        try openssl.write("ext.cnf", Array(Self.extensions.utf8))
        try await openssl.makeCertificate("ca", subject: "/CN=Test CA", issuer: nil, extensions: "v3_ca")
        try await openssl.makeCertificate("cert", subject: Self.subject, issuer: "ca", extensions: "topics_ext")
        try openssl.write("password", Array("marked\n".utf8))
    }

    static let subject = "/UID=com.example.shop/CN=Apple Push Services: com.example.shop"

    /// Apple's extension.
    static let extensions = """
        [v3_ca]
        basicConstraints = critical, CA:true
        [topics_ext]
        1.2.840.113635.100.6.3.6 = ASN1:SEQUENCE:topics
        [plain_ext]
        basicConstraints = CA:false
        [topics]
        a = UTF8:com.example.shop
        b = SEQUENCE:app
        c = UTF8:com.example.shop.voip
        d = SEQUENCE:voip
        e = UTF8:com.example.shop.complication
        f = SEQUENCE:complication
        [app]
        a = UTF8:app
        [voip]
        a = UTF8:voip
        [complication]
        a = UTF8:complication
        b = UTF8:watch
        """

    private func pemFile(_ names: [String]) throws -> String {
        try openssl.write("both.pem", names.flatMap { try openssl.read($0) })
    }

    @Test func pemWithCertificateKeyAndAuthority() async throws {
        let certificate = try APNsCertificate.load(file: pemFile(["ca.pem", "cert.pem", "cert.key"]))
        #expect(certificate.commonName == "Apple Push Services: com.example.shop")
        #expect(
            certificate.topics == [
                .init(name: "com.example.shop", kinds: ["app"]),
                .init(name: "com.example.shop.voip", kinds: ["voip"]),
                .init(name: "com.example.shop.complication", kinds: ["complication", "watch"]),
            ]
        )
        let now = Int64(Date().timeIntervalSince1970)
        #expect(abs(certificate.notBefore - now) < 300)
        #expect(certificate.notAfter - certificate.notBefore == 30 * 86_400)
        // The certificate of the key comes first, independent of the order in the file.
        try openssl.write("chain.pem", certificate.chainPEM)
        try await openssl.run(["x509", "-in", "chain.pem", "-out", "first.pem"])
        let (first, leaf, authority) = try (openssl.read("first.pem"), openssl.read("cert.pem"), openssl.read("ca.pem"))
        #expect(first == leaf)
        #expect(certificate.chainPEM == leaf + authority)
        try openssl.write("exported.key", certificate.privateKeyPEM)
        try await openssl.run(["pkey", "-in", "exported.key", "-check", "-noout"])
    }

    @Test(arguments: [["-certpbe", "AES-256-CBC", "-keypbe", "AES-256-CBC"], ["-legacy"]])
    func pkcs12OfNewAndOldCiphers(_ ciphers: [String]) async throws {
        let path = try await openssl.exportPKCS12(password: "marked", ciphers + ["-certfile", "ca.pem"])
        let certificate = try APNsCertificate.load(file: path, passwordFile: openssl.path("password"))
        #expect(certificate.topics.map(\.name).first == "com.example.shop")
        #expect(try certificate.chainPEM == openssl.read("cert.pem") + openssl.read("ca.pem"))
    }

    @Test(arguments: [[], ["-nomac"]])
    func pkcs12WithoutPassword(_ options: [String]) async throws {
        let path = try await openssl.exportPKCS12(password: "", options)
        #expect(try APNsCertificate.load(file: path).topics.count == 3)
    }

    @Test func passwordsAreMissedAndCompared() async throws {
        let archive = try await openssl.exportPKCS12(password: "marked")
        try openssl.write("wrong", Array("other".utf8))
        #expect(refusal(of: archive) == .passwordNeeded)
        #expect(refusal(of: archive, passwordFile: "wrong") == .wrongPassword)
        #expect(refusal(of: archive, passwordFile: "none") == .missing)
        let unauthenticated = try await openssl.exportPKCS12(password: "marked", ["-nomac"])
        #expect(refusal(of: unauthenticated) == .passwordNeeded)
        let message = message(of: unauthenticated, passwordFile: "password")
        #expect(message.contains("mac absent") && message.contains("convert it with: openssl pkcs12"))
        try openssl.write("open", Array("marked".utf8), mode: 0o644)
        #expect(refusal(of: archive, passwordFile: "open") == .exposed(mode: 0o644))
        try await openssl.run(["pkcs8", "-topk8", "-in", "cert.key", "-out", "locked.key", "-passout", "pass:marked"])
        let pem = try pemFile(["locked.key", "cert.pem"])
        #expect(throws: KeyError.self) { try SigningKey.load(pemFile: pem, expecting: .es256) }
        #expect(refusal(of: pem) == .passwordNeeded)
        #expect(refusal(of: pem, passwordFile: "wrong") == .wrongPassword)
        #expect(refusal(of: pem, passwordFile: "password") == nil)
    }

    @Test func filesThatAreNoCertificate() async throws {
        #expect(refusal(of: try openssl.write("text", Array("hello".utf8))) == .notACertificateFile)
        #expect(refusal(of: try openssl.write("empty", [])) == .notACertificateFile)
        #expect(refusal(of: try pemFile(["cert.pem"])) == .noPrivateKey(found: "certificate"))
        #expect(refusal(of: try pemFile(["cert.key"])) == .noCertificate)
        #expect(refusal(of: try pemFile(["cert.key", "ca.pem"])) == .keyMismatch)
        var archive = try await openssl.read(
            URL(fileURLWithPath: openssl.exportPKCS12(password: "marked")).lastPathComponent
        )
        archive[archive.count / 2] ^= 0x55
        #expect(refusal(of: try openssl.write("cut.p12", archive), passwordFile: "password") == .wrongPassword)
        let lines = try String(decoding: openssl.read("cert.pem"), as: UTF8.self).split(separator: "\n")
        let damaged = try openssl.read("cert.key") + Array((lines[0] + "\nmarked\n" + (lines.last ?? "") + "\n").utf8)
        let error = #expect(throws: KeyError.self) {
            try APNsCertificate.load(file: openssl.write("damaged.pem", damaged))
        }
        #expect(error?.description.contains("damaged certificate") == true)
    }

    @Test func validityAndTopicsAreChecked() throws {
        let certificate = try APNsCertificate.load(file: pemFile(["cert.key", "cert.pem"]))
        let now = certificate.notBefore + 86_400
        try certificate.check(topic: nil, at: now)
        try certificate.check(topic: "com.example.shop.voip", at: now)
        #expect(reason { try certificate.check(topic: nil, at: certificate.notAfter) } == nil)
        #expect(
            reason { try certificate.check(topic: nil, at: certificate.notAfter + 1) }
                == .expired(at: certificate.notAfter)
        )
        #expect(
            reason { try certificate.check(topic: nil, at: certificate.notBefore - 1) }
                == .notYetValid(from: certificate.notBefore)
        )
        let other = reason { try certificate.check(topic: "com.example.other", at: now) }
        #expect(other == .topicNotCovered("com.example.other", covered: certificate.topics.map(\.name)))
        let expired = KeyError(reason: .expired(at: 1_700_000_000), source: "push.p12")
        #expect(expired.description.hasPrefix("push.p12: the certificate expired at 2023-11-14T22:13:20Z; renew it"))
    }

    @Test func withoutTheExtensionTheUserIdIsTheTopic() async throws {
        try await openssl.makeCertificate("cert", subject: Self.subject, issuer: "ca", extensions: "plain_ext")
        let certificate = try APNsCertificate.load(file: pemFile(["cert.key", "cert.pem"]))
        #expect(certificate.topics == [.init(name: "com.example.shop", kinds: [])])
        try await openssl.makeCertificate("cert", subject: "/CN=web server", issuer: "ca", extensions: "plain_ext")
        let none = try APNsCertificate.load(file: pemFile(["cert.key", "cert.pem"]))
        #expect(reason { try none.check(topic: nil, at: none.notBefore) } == .noTopic)
    }

    @Test(
        arguments: [
            [], [0x30], [0x30, 0x05, 0x0C, 0x01], [0x30, 0x84, 0xFF, 0xFF, 0xFF, 0xFF], [0x1F, 0x01], [0x30, 0x80],
            [0x04, 0x02, 0x30, 0x00], [0x30, 0x02, 0x0C, 0x00].reversed(),
        ] as [[UInt8]]
    )
    func anExtensionOfAnotherShapeHasNoTopics(_ der: [UInt8]) {
        #expect(APNsTopics.decode(der).isEmpty)
    }

    @Test func pairsMayBeNested() {
        let pair: [UInt8] = [0x30, 0x08, 0x0C, 0x01, 0x61, 0x30, 0x03, 0x0C, 0x01, 0x62]
        #expect(APNsTopics.decode([0x30, UInt8(pair.count)] + pair) == [.init(name: "a", kinds: ["b"])])
    }

    @Test func noMessageHoldsASecret() async throws {
        let archive = try await openssl.exportPKCS12(password: "marked")
        try openssl.write("wrong", Array("marked-not".utf8))
        for passwordFile in [nil, "wrong"] {
            let error = #expect(throws: KeyError.self) {
                try APNsCertificate.load(file: archive, passwordFile: passwordFile.map { openssl.path($0) })
            }
            #expect(error?.description.contains(archive) == true)
            #expect(error?.description.contains("marked") == false)
        }
    }

    private func refusal(of path: String, passwordFile: String? = nil) -> KeyError.Reason? {
        reason { try APNsCertificate.load(file: path, passwordFile: passwordFile.map { openssl.path($0) }) }
    }

    private func message(of path: String, passwordFile: String) -> String {
        do throws(KeyError) {
            _ = try APNsCertificate.load(file: path, passwordFile: openssl.path(passwordFile))
            return ""
        } catch {
            return error.description
        }
    }

    private func reason(_ body: () throws -> some Any) -> KeyError.Reason? {
        do {
            _ = try body()
            return nil
        } catch {
            return (error as? KeyError)?.reason
        }
    }
}

extension OpenSSL {
    /// Creates NAME.key and NAME.pem, valid for 30 days.
    fileprivate func makeCertificate(_ name: String, subject: String, issuer: String?, extensions: String) async throws
    {
        try await makeKey(name + ".key")
        try await run(["req", "-new", "-key", name + ".key", "-subj", subject, "-out", name + ".csr"])
        let signer = issuer.map { ["-CA", $0 + ".pem", "-CAkey", $0 + ".key"] } ?? ["-signkey", name + ".key"]
        try await run(
            ["x509", "-req", "-in", name + ".csr", "-days", "30", "-out", name + ".pem", "-set_serial", "7"]
                + ["-extfile", "ext.cnf", "-extensions", extensions] + signer
        )
    }

    /// Exports `cert.pem` and `cert.key`.
    fileprivate func exportPKCS12(password: String, _ options: [String] = []) async throws -> String {
        try await run(
            ["pkcs12", "-export", "-in", "cert.pem", "-inkey", "cert.key", "-out", "push.p12"]
                + ["-passout", "pass:" + password] + options
        )
        try setMode("push.p12", 0o600)
        return path("push.p12")
    }
}
