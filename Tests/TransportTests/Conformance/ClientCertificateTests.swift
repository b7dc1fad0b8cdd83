import Foundation
import PushCrypto
import PushTransport
import TestKit
import Testing

/// A server that requests a certificate and trusts only the root of its chain.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct ClientCertificateTests {
    /// Creates a root, an intermediate authority and a client certificate in a folder, which is deleted afterwards.
    private func withCertificates(_ body: (String) async throws -> Void) async throws {
        let folder = NSTemporaryDirectory() + "fanfare-client-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let settings = "[ca]\nbasicConstraints=critical,CA:true\n[leaf]\nbasicConstraints=CA:false\n"
        try Data(settings.utf8).write(to: URL(fileURLWithPath: folder + "/ext.cnf"))
        for (name, issuer, kind) in [("root", "root", "ca"), ("middle", "root", "ca"), ("client", "middle", "leaf")] {
            try await OpenSSL.run(
                [
                    "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-keyout", name + ".key", "-out", name + ".csr", "-subj", "/UID=com.example.shop/CN=" + name,
                ],
                in: folder
            )
            let signer =
                name == issuer ? ["-signkey", "root.key"] : ["-CA", issuer + ".pem", "-CAkey", issuer + ".key"]
            try await OpenSSL.run(
                ["x509", "-req", "-in", name + ".csr", "-out", name + ".pem", "-days", "2", "-set_serial", "1"]
                    + ["-extfile", "ext.cnf", "-extensions", kind] + signer,
                in: folder
            )
        }
        try Data("secret\n".utf8).write(to: URL(fileURLWithPath: folder + "/password"))
        try await OpenSSL.run(
            ["pkcs12", "-export", "-in", "client.pem", "-inkey", "client.key", "-certfile", "middle.pem"]
                + ["-out", "push.p12", "-passout", "file:password"],
            in: folder
        )
        for name in ["push.p12", "password"] {
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: folder + "/" + name)
        }
        try await body(folder)
    }

    private func deliverOne(
        asking folder: String,
        by transport: Transport,
        _ adjust: (inout TransportOptions) -> Void
    ) async throws -> PushAnswer {
        let server = try await TLSServer.start(
            host: "localhost",
            saying: transport.accepted,
            by: transport.scriptedProtocol,
            ["-Verify", "2", "-verifyCAfile", folder + "/root.pem", "-verify_return_error"]
        )
        var options = server.options
        adjust(&options)
        do {
            let requests = try someRequests(1, deadline: .seconds(5))
            let delivery = try await deliver(requests, to: server.endpoint, options, by: transport)
            await server.stop()
            return try #require(delivery.answers.first)
        } catch {
            await server.stop()
            throw error
        }
    }

    @Test(arguments: Transport.allCases)
    func theWholeChainIsShown(_ transport: Transport) async throws {
        try await withCertificates { folder in
            let path = folder + "/push.p12"
            let certificate = try APNsCertificate.load(file: path, passwordFile: folder + "/password")
            let answer = try await deliverOne(asking: folder, by: transport) {
                $0.clientCertificate = ClientCertificate(
                    chain: certificate.chainPEM,
                    privateKey: certificate.privateKeyPEM
                )
            }
            #expect(answer.status == 200, "\(answer)")
        }
    }

    @Test(arguments: Transport.allCases)
    func withoutOneNothingIsAnswered(_ transport: Transport) async throws {
        try await withCertificates { folder in
            let answer = try await deliverOne(asking: folder, by: transport) { _ in }
            #expect(answer.fate != .answered)
            #expect(answer.detail.contains("alert"), "\(answer.detail)")
        }
    }

    @Test(arguments: Transport.allCases)
    func aKeyThatDoesNotFitIsNotSent(_ transport: Transport) async throws {
        try await withCertificates { folder in
            let read = { (name: String) in try [UInt8](Data(contentsOf: URL(fileURLWithPath: folder + "/" + name))) }
            let (chain, key) = try (read("client.pem"), read("middle.key"))
            let deliver = {
                try await deliverOne(asking: folder, by: transport) {
                    $0.clientCertificate = ClientCertificate(chain: chain, privateKey: key)
                }
            }
            if transport.checksClientCertificateFirst {
                let error = await #expect(throws: TransportError.self) { _ = try await deliver() }
                #expect(error?.description.hasPrefix("client certificate: ") == true, "\(error as Any)")
            } else {
                let answer = try await deliver()
                #expect(answer.fate == .notSent && answer.cause == .tls)
            }
        }
    }
}
