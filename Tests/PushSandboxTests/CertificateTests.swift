import Foundation
import Programs
import PushCrypto
import SandboxCrypto
import Testing

@testable import PushSandbox

/// The certificates that a sandbox creates, as other programs read them, and those that it accepts.
struct CertificateTests {
    private let authority: CertificateAuthority.Identity

    init() throws { authority = try CertificateAuthority.makeAuthority() }

    @Test func theCommandTrustsThem() async throws {
        let server = try CertificateAuthority.makeServer(signedBy: authority)
        let client = try CertificateAuthority.makeAPNsClient(bundleID: "com.example.demo", signedBy: authority)
        let stranger = try CertificateAuthority.makeAuthority()
        try await withTemporaryFolder { folder in
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            func write(_ name: String, _ text: String) throws -> String {
                try text.write(toFile: "\(folder)/\(name)", atomically: true, encoding: .utf8)
                return "\(folder)/\(name)"
            }
            let ca = try write("ca.pem", authority.certificate + "\n")
            let files = (try write("server.pem", server.certificate), try write("client.pem", client.certificate))
            func verify(_ authority: String, _ file: String, _ options: [String]) async throws -> Int32 {
                try await Command.run(["openssl", "verify", "-CAfile", authority] + options + [file]).status
            }
            for name in ["localhost", "api.push.apple.com", "fcm.googleapis.com", "wns2.notify.windows.com"] {
                #expect(
                    try await verify(ca, files.0, ["-purpose", "sslserver", "-verify_hostname", name]) == 0,
                    "\(name)"
                )
            }
            for address in ["127.0.0.1", "::1"] {
                #expect(
                    try await verify(ca, files.0, ["-x509_strict", "-purpose", "sslserver", "-verify_ip", address]) == 0
                )
            }
            #expect(try await verify(ca, files.0, ["-verify_hostname", "example.com"]) != 0)
            #expect(try await verify(ca, files.0, ["-purpose", "sslclient"]) != 0)
            #expect(try await verify(ca, files.1, ["-purpose", "sslclient"]) == 0)
            #expect(try await verify(ca, files.1, ["-purpose", "sslserver"]) != 0)
            #expect(try await verify(write("other.pem", stranger.certificate), files.0, []) != 0)
        }
    }

    @Test func theSenderReadsTheTopics() async throws {
        // Longer than X.509 allows for a common name.
        let bundleID = "com.example." + String(repeating: "long", count: 20)
        let client = try CertificateAuthority.makeAPNsClient(bundleID: bundleID, signedBy: authority)
        try await withTemporaryFolder { folder in
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            let file = folder + "/apns.pem"
            try (client.certificate + "\n" + client.key + "\n").write(toFile: file, atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
            let read = try PushCrypto.APNsCertificate.load(file: file)
            #expect(read.commonName == "Apple Push Services: " + bundleID)
            #expect(read.topics.map(\.name) == [bundleID, bundleID + ".voip", bundleID + ".complication"])
            #expect(read.topics.map(\.kinds) == [["app"], ["voip"], ["complication"]])
            #expect(read.notAfter - read.notBefore == 395 * 86_400 + 3600)
        }
    }

    @Test func onlyItsOwnAreTakenAndOnlyInTheirTime() throws {
        let issuer = try #require(Certificate.read(pem: authority.certificate))
        let stranger = try #require(Certificate.read(pem: CertificateAuthority.makeAuthority().certificate))
        let client = try CertificateAuthority.makeAPNsClient(bundleID: "com.example.demo", signedBy: authority)
        let certificate = try #require(Certificate.read(pem: client.certificate))
        #expect(certificate.isSigned(by: issuer) && !certificate.isSigned(by: stranger))
        let now = Int64(Date().timeIntervalSince1970)
        for (days, isValid) in [(-1, false), (0, true), (394, true), (395, false), (9000, false)] {
            // One second more than the days, so that the last day is over.
            #expect(certificate.isValid(at: now + Int64(days) * 86_400 + 1) == isValid, "\(days)")
        }
        func isUsable(_ bundleID: String, _ authority: CertificateAuthority.Identity) -> Bool {
            CertificateAuthority.isUsableAPNsClient(client.certificate, bundleID: bundleID, signedBy: authority)
        }
        #expect(isUsable("com.example.demo", authority) && !isUsable("com.example.other", authority))
        #expect(try !isUsable("com.example.demo", CertificateAuthority.makeAuthority()))
    }

    @Test func damagedOnesAreNone() throws {
        let issuer = try #require(Certificate.read(pem: authority.certificate))
        let client = try CertificateAuthority.makeAPNsClient(bundleID: "com.example.demo", signedBy: authority)
        let lines = client.certificate.split(separator: "\n").dropFirst().dropLast().joined()
        let der = Array(try #require(Data(base64Encoded: lines)))
        #expect(Certificate.decode(der: der)?.isSigned(by: issuer) == true)
        #expect(Certificate.decode(der: der)?.userID == "com.example.demo")
        for wrong in [[], [0x30], Array(der.dropLast()), der + [0], Array(der.dropFirst())] {
            #expect(Certificate.decode(der: wrong) == nil)
        }
        // With any bit changed, it is not a certificate any more, or not the CA's.
        for index in stride(from: 4, to: der.count, by: 3) {
            var damaged = der
            damaged[index] ^= 1
            #expect(Certificate.decode(der: damaged)?.isSigned(by: issuer) != true, "byte \(index)")
        }
    }

    @Test func anExtensionIsThereOnce() throws {
        func certificate(_ extensions: [(name: String, value: String)]) throws -> Certificate? {
            let form = CertificateForm(subject: [(type: "UID", value: "a")], days: 1, extensions: extensions)
            let pem = try form.certificate(for: P256PrivateKey()).pem()
            let lines = pem.split(separator: "\n").dropFirst().dropLast().joined()
            return Certificate.decode(der: Array(try #require(Data(base64Encoded: lines))))
        }
        let (one, other) = ((name: "1.2.3.4", value: "DER:0500"), (name: "1.2.3.5", value: "DER:0500"))
        #expect(try certificate([one, other])?.content(ofExtension: "1.2.3.5") == [5, 0])
        #expect(try certificate([one, other])?.content(ofExtension: "1.2.3.6") == nil)
        #expect(try certificate([one, other, one]) == nil)
    }

    @Test func topicsAreReadStrictly() throws {
        let long = String(repeating: "x", count: 300)
        let topics = [(topic: "a", kinds: ["app", "voip"]), (topic: long, kinds: []), (topic: "b", kinds: [long])]
        let read = try #require(TopicList(TopicList(topics: topics).der)).topics
        #expect(read.map(\.topic) == topics.map(\.topic) && read.map(\.kinds) == topics.map(\.kinds))
        #expect(TopicList([0x30, 0])?.topics.isEmpty == true)
        let good: [UInt8] = [0x30, 8, 0x0C, 1, 0x61, 0x30, 3, 0x0C, 1, 0x62]
        #expect(TopicList(good)?.topics.first?.kinds == ["b"])
        let wrong: [[UInt8]] = [
            [], [5, 0], good + [0], Array(good.dropLast()), [0x31] + good.dropFirst(), [0x30, 3, 0x0C, 1, 0x61],
            [0x30, 8, 0x13, 1, 0x61, 0x30, 3, 0x0C, 1, 0x62], [0x30, 0x81, 8] + good.dropFirst(2),
            [0x30, 0x82, 0, 8] + good.dropFirst(2), [0x30, 0x80] + good.dropFirst(2) + [0, 0],
            [0x30, 0x84, 0xFF, 0xFF, 0xFF, 0xFF] + good.dropFirst(2), [0x30, 8, 0x0C, 1, 0x61, 0x30, 3, 0x0C, 2, 0x62],
        ]
        for der in wrong { #expect(TopicList(der) == nil, "\(der)") }
    }
}
