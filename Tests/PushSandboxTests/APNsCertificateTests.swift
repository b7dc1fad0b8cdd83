import Foundation
import NIOSSL
import Testing

@testable import PushSandbox

@Suite(.timeLimit(.minutes(5)))
struct APNsCertificateTests {
    /// Sets the clock to the current time, at which new certificates are valid.
    private static func present(_ options: inout SandboxOptions) {
        options.unixMicroseconds = { Int64(Date().timeIntervalSince1970 * 1_000_000) }
    }

    private static func authority(_ fixture: SandboxFixture) throws -> CertificateAuthority.Identity {
        func read(_ name: String) throws -> String {
            try String(contentsOfFile: fixture.sandbox.ready.dir + "/" + name, encoding: .utf8)
        }
        return CertificateAuthority.Identity(certificate: try read("ca.pem"), key: try read("ca-key.pem"))
    }

    @Test func itIsACredentialInBothEnvironments() async throws {
        try await withSandbox(Self.present) { fixture in
            let certificate = try ClientCertificate(pemFile: fixture.sandbox.ready.certificateFile)
            for isSandbox in [false, true] {
                let client = try await fixture.connect(sandboxEnvironment: isSandbox, certificate: certificate)
                // Known from the handshake, before the first request.
                _ = await client.wait { $0.streamLimits.last == 1000 }
                #expect(try await client.push(TestRequest(authorization: nil)).status == 200)
                #expect(try await client.push(TestRequest(authorization: "bearer ignored")).status == 200)
                await client.close()
            }
        }
    }

    @Test func itCoversItsAppOnly() async throws {
        try await withSandbox {
            Self.present(&$0)
            $0.topics = ["com.example.demo", "com.example.other"]
        } _: { fixture in
            let certificate = try ClientCertificate(pemFile: fixture.sandbox.ready.certificateFile)
            let client = try await fixture.connect(certificate: certificate)
            let good = TestRequest(authorization: nil)
            let voip = good.with("apns-push-type", "voip").with("apns-topic", "com.example.demo.voip")
            #expect(try await client.push(voip).status == 200)
            #expect(try await client.push(good.with("apns-topic", "com.example.demo.voip")).reason == "BadTopic")
            #expect(try await client.push(good.with("apns-topic", "com.example.other")).reason == "TopicDisallowed")
            #expect(try await client.push(good.with("apns-topic", nil)).reason == "MissingTopic", "it has several")
            let location = good.with("apns-push-type", "location")
                .with("apns-topic", "com.example.demo.location-query")
            #expect(try await client.push(location).reason == "InvalidPushType")
            await client.close()
        }
    }

    @Test func strangersAndExpiredOnesAreAnswered() async throws {
        try await withSandbox(Self.present) { fixture in
            let stranger = try CertificateAuthority.makeAuthority()
            let identity = try CertificateAuthority.makeAPNsClient(bundleID: "com.example.demo", signedBy: stranger)
            let client = try await fixture.connect(certificate: try ClientCertificate(identity))
            let response = try await client.push(TestRequest(authorization: nil))
            #expect((response.status, response.reason) == (403, "BadCertificate"))
            #expect(client.seen.streamLimits == [1])
            await client.close()
        }
        // The test clock is far before or after the validity of certificates created today.
        try await withSandbox { fixture in
            fixture.clock.advance(seconds: 20 * 365 * 86_400)
            let certificate = try ClientCertificate(pemFile: fixture.sandbox.ready.certificateFile)
            let client = try await fixture.connect(certificate: certificate)
            #expect(try await client.push(TestRequest(authorization: nil)).reason == "BadCertificate")
            await client.close()
        }
    }

    @Test func aCertificateMayBeForOneTopicAndOneEnvironment() async throws {
        try await withSandbox(Self.present) { fixture in
            let identity = try CertificateAuthority.makeAPNsClient(
                bundleID: "com.example.demo",
                signedBy: Self.authority(fixture),
                kind: .developmentOnly
            )
            let certificate = try ClientCertificate(identity)
            let production = try await fixture.connect(certificate: certificate)
            let request = TestRequest(authorization: nil)
            #expect(try await production.push(request).reason == "BadCertificateEnvironment")
            await production.close()
            let sandbox = try await fixture.connect(sandboxEnvironment: true, certificate: certificate)
            #expect(try await sandbox.push(request.with("apns-topic", nil)).status == 200, "the only topic is meant")
            await sandbox.close()
        }
    }
}
