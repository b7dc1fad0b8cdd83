import Foundation
import Programs
import Testing

@testable import PushSandbox

@Suite(.timeLimit(.minutes(5)))
struct SandboxFolderTests {
    @Test func theFolderHoldsAllThatFanfareNeeds() async throws {
        try await withSandbox {
            $0.databaseURL = "postgres:///demo?x=\"y\""
            $0.topics = ["org.example.one", "org.example.two"]
        } _: { fixture in
            let ready = fixture.sandbox.ready
            let configuration = try String(contentsOfFile: ready.configFile, encoding: .utf8)
            let expected = """
                database:
                  url: "postgres:///demo?x=\\"y\\""
                apps:
                  "demo":
                    apns:
                      team_id: "SIMTEAM001"
                      key_id: "SIMKEY0001"
                      key_file: "AuthKey_SIMKEY0001.p8"
                      # Or, instead of these three, certificate_file: apns-certificate.pem
                      topic: "org.example.one"
                      endpoint: https://localhost:\(ready.tlsPort)
                      sandbox_endpoint: https://localhost:\(ready.sandboxTLSPort)
                      ca_file: ca.pem
                    fcm:

                """
            #expect(configuration.contains(expected))
            #expect(configuration.contains("    webpush:\n"))
            let secrets = [
                "AuthKey_SIMKEY0001.p8", "ca-key.pem", "server-key.pem", "fanfare.yaml", "received.jsonl",
                "service-account.json", "vapid.pem", "subscribers.secret", "apns-certificate.pem",
            ]
            for secret in secrets {
                let attributes = try FileManager.default.attributesOfItem(atPath: ready.dir + "/" + secret)
                #expect(attributes[.posixPermissions] as? Int == 0o600, "\(secret)")
            }
            let key = try String(contentsOfFile: ready.dir + "/AuthKey_SIMKEY0001.p8", encoding: .utf8)
            #expect(key.hasPrefix("-----BEGIN PRIVATE KEY-----\n"), "PKCS#8, as Apple's are")
        }
    }

    @Test func theConfigurationHasTheProvidersAskedFor() async throws {
        try await withSandbox {
            $0.configuredProviders = ["fcm", "webpush"]
        } _: { fixture in
            let ready = fixture.sandbox.ready
            let configuration = try String(contentsOfFile: ready.configFile, encoding: .utf8)
            let expected = """
                apps:
                  "demo":
                    fcm:
                      service_account_file: service-account.json
                      endpoint: https://localhost:\(ready.tlsPort)
                      ca_file: ca.pem
                    webpush:
                      vapid_key_file: vapid.pem
                      subject: "mailto:push@example.com"
                      allowed_hosts: [ "localhost" ]
                      allowed_networks: [ "127.0.0.1/32", "::1/128" ]
                      ca_file: ca.pem

                """
            #expect(configuration.hasSuffix(expected))
            let key = try String(contentsOfFile: ready.vapidKeyFile, encoding: .utf8)
            #expect(key.hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
        }
    }

    @Test func aSecondStartKeepsCAAndKeys() async throws {
        try await withTemporaryFolder { folder in
            let names = [
                "ca.pem", "ca-key.pem", "server.pem", "server-key.pem", "AuthKey_SIMKEY0001.p8", "vapid.pem",
                "service-account-key.pem", "subscribers.secret", "apns-certificate.pem",
            ]
            func contents() throws -> [String] {
                try names.map { try String(contentsOfFile: "\(folder)/\($0)", encoding: .utf8) }
            }
            let clock = TestClock()
            var options = SandboxOptions(directory: folder)
            options.unixMicroseconds = { clock.microseconds }
            try ServiceAccountKey.put(into: folder)
            let first = try await PushSandbox.start(options)
            let browser = try first.subscription("b").keys
            let before = try contents()
            let request = try SandboxFixture(sandbox: first, clock: clock).request()
            let client = try await SandboxFixture(sandbox: first, clock: clock).connect()
            #expect(try await client.push(request).status == 200)
            await first.stop()
            let second = try await PushSandbox.start(options)
            #expect(try contents() == before)
            #expect(try second.subscription("b").keys == browser)
            #expect(second.counts.received == 0)
            let again = try await SandboxFixture(sandbox: second, clock: clock).connect()
            #expect(try await again.push(request).status == 200)
            let previous = try String(contentsOfFile: folder + "/received.previous.jsonl", encoding: .utf8)
            #expect(previous.split(separator: "\n").count == 1)
            await second.stop()
        }
    }

    /// A configuration with the sandbox's first line is rewritten; one without it belongs to the user.
    @Test func aConfigurationOfTheUsersIsKept() async throws {
        try await withTemporaryFolder { folder in
            var options = SandboxOptions(directory: folder)
            try ServiceAccountKey.put(into: folder)
            func configuration(ofApp name: String) async throws -> String {
                options.appName = name
                let sandbox = try await PushSandbox.start(options)
                await sandbox.stop()
                return try String(contentsOfFile: sandbox.ready.configFile, encoding: .utf8)
            }
            #expect(try await configuration(ofApp: "one").contains("\n  \"one\":\n"))
            let written = try await configuration(ofApp: "two")
            #expect(written.contains("\n  \"two\":\n") && !written.contains("\"one\""))
            let own = written.split(separator: "\n").dropFirst().joined(separator: "\n") + "\n# edited\n"
            try own.write(toFile: folder + "/fanfare.yaml", atomically: true, encoding: .utf8)
            #expect(try await configuration(ofApp: "three") == own)
        }
    }

    @Test func aServerCertificateOfAnotherCAIsReplaced() async throws {
        let authority = try CertificateAuthority.makeAuthority()
        let stranger = try CertificateAuthority.makeAuthority()
        let server = try CertificateAuthority.makeServer(signedBy: authority)
        #expect(CertificateAuthority.isUsable(server, signedBy: authority))
        #expect(!CertificateAuthority.isUsable(server, signedBy: stranger))
    }

    @Test(
        arguments: [
            ("team id", { @Sendable options in options.teamID = "SHORT" }),
            ("key id", { @Sendable options in options.keyID = "../../evil" }),
            ("topics", { @Sendable options in options.topics = [] }),
            ("TLS port", { @Sendable options in options.tlsPort = 70_000 }),
            ("stream limit", { @Sendable options in options.streamLimit = 0 }),
            ("threads", { @Sendable options in options.threads = 0 }),
        ] as [(String, @Sendable (inout SandboxOptions) -> Void)]
    )
    func optionsThatCannotWorkAreRefused(name: String, change: @Sendable (inout SandboxOptions) -> Void) async throws {
        try await withTemporaryFolder { folder in
            var options = SandboxOptions(directory: folder)
            change(&options)
            let error = await #expect(throws: SandboxError.self) { try await PushSandbox.start(options) }
            #expect(error?.code == .invalidOption)
            #expect(error?.description.hasPrefix(name) == true)
        }
    }

    @Test func aFolderIsForOneSandbox() async throws {
        try await withSandbox { fixture in
            let client = try await fixture.connect()
            #expect(try await client.push(fixture.request()).status == 200)
            let options = SandboxOptions(directory: fixture.sandbox.ready.dir)
            let error = await #expect(throws: SandboxError.self) { try await PushSandbox.start(options) }
            #expect(error?.description.hasPrefix("another sandbox is using") == true)
            #expect(try await fixture.sandbox.received(after: 0).count == 1)
            await client.close()
        }
    }

    @Test func aPortInUseIsNamed() async throws {
        try await withSandbox { fixture in
            try await withTemporaryFolder { folder in
                var options = SandboxOptions(directory: folder)
                options.controlPort = fixture.sandbox.controlPort
                let error = await #expect(throws: SandboxError.self) { try await PushSandbox.start(options) }
                #expect(error?.code == .listen)
                #expect(error?.description.contains(":\(options.controlPort)") == true)
            }
        }
    }

    @Test func runEndsWhenItsTaskIsCancelled() async throws {
        try await withSandbox { fixture in
            let client = try await fixture.connect()
            let run = Task { await fixture.sandbox.run() }
            run.cancel()
            await run.value
            // The old port is not queried, because another process may use it now: a folder is for one sandbox.
            let next = try await PushSandbox.start(SandboxOptions(directory: fixture.sandbox.ready.dir))
            await next.stop()
            #expect(await client.wait { $0.isClosed }.isClosed)
        }
    }

    @Test func curlIsContentWithTheCertificate() async throws {
        try await withSandbox { fixture in
            for host in ["localhost", "127.0.0.1"] {
                let curl = try await fixture.request().pushByCurl(to: fixture.sandbox, host: host)
                #expect(curl.output == "200 2", "\(host): \(curl.errors)")
            }
        }
    }
}
