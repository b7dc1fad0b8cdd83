import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import SandboxCrypto
import TestKit
import Testing

@testable import APIKit
@testable import FanfareConfiguration
@testable import FanfareHTTP
@testable import FanfareTools

/// Tests of the API over TLS, with certificates that are made and trusted for the test only.
@Suite(.database, .timeLimit(.minutes(5))) struct TLSTests {
    @Test func aCertificateIsChangedWhileTheServerRuns() async throws {
        try await withServer { port, folder, first in
            #expect(try await ask(port, trusting: first)?.hasPrefix("HTTP/1.1 200") == true)
            let second = try ServerCertificate()
            #expect(try await ask(port, trusting: second) == nil)
            try second.write(to: folder)
            #expect(try await ask(port, trusting: second)?.hasPrefix("HTTP/1.1 200") == true)
            #expect(try await ask(port, trusting: first) == nil)

            // A certificate and key that do not match change nothing, nor does a key that everybody may read, nor a
            // missing file.
            let third = try ServerCertificate()
            try third.write(to: folder, hasKey: false)
            #expect(try await ask(port, trusting: second) != nil)
            try third.write(to: folder, mode: 0o644)
            #expect(try await ask(port, trusting: second) != nil)
            try FileManager.default.removeItem(at: folder.appending(path: "key.pem"))
            #expect(try await ask(port, trusting: second) != nil)
            try third.write(to: folder)
            #expect(try await ask(port, trusting: third) != nil)
        }
    }

    @Test func whatIsNoTLSOrAnOldOneIsNotAnswered() async throws {
        try await withServer { port, _, certificate in
            #expect(try await ask(port, trusting: certificate, newest: .tlsv12) != nil)
            #expect(try await ask(port, trusting: certificate, newest: .tlsv11) == nil)
            for (cipher, isTaken) in [
                (NIOTLSCipher.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, false),
                (.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, true),
            ] {
                let answer = try await ask(port, trusting: certificate, newest: .tlsv12, cipher: cipher)
                #expect((answer != nil) == isTaken)
            }
            let plain = try await onThread {
                try Wire(port: port).readAll(sending: "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
            }
            #expect(!plain.contains("HTTP"))
        }
    }

    /// Runs a body with a server that checks its files for each connection.
    private func withServer(_ body: (_ port: Int, _ folder: URL, ServerCertificate) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "fanfare-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let certificate = try ServerCertificate()
        try certificate.write(to: folder)
        var times = ListenerTimes()
        times.reread = .zero
        let configuration = try APIWorld.configuration(
            "  certificate_file: \(folder.path)/chain.pem\n  key_file: \(folder.path)/key.pem"
        )
        try await APIWorld.with(configuration, times: times) { try await body($0.port, folder, certificate) }
    }

    /// Requests `/livez`.
    ///
    /// - Returns: the response; nil if the handshake failed.
    private func ask(
        _ port: Int,
        trusting certificate: ServerCertificate,
        newest version: TLSVersion? = nil,
        cipher: NIOTLSCipher? = nil
    ) async throws -> String? {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .certificates([try NIOSSLCertificate(bytes: Array(certificate.pem.utf8), format: .pem)])
        if let version {
            tls.minimumTLSVersion = .tlsv1
            tls.maximumTLSVersion = version
        }
        if let cipher { tls.cipherSuiteValues = [cipher] }
        let context = try NIOSSLContext(configuration: tls)
        let answer = MultiThreadedEventLoopGroup.singleton.next().makePromise(of: String?.self)
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let handler = try NIOSSLClientHandler(context: context, serverHostname: "localhost")
                    try channel.pipeline.syncOperations.addHandlers(handler, AnswerCollector(answer))
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        let request = "GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        channel.writeAndFlush(ByteBuffer(string: request), promise: nil)
        return try await answer.futureResult.get()
    }
}

/// Collects the received bytes until the connection ends.
private final class AnswerCollector: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let answer: EventLoopPromise<String?>
    private var bytes = ByteBuffer()

    init(_ answer: EventLoopPromise<String?>) { self.answer = answer }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var piece = unwrapInboundIn(data)
        bytes.writeBuffer(&piece)
    }

    func channelInactive(context: ChannelHandlerContext) {
        answer.succeed(bytes.readableBytes == 0 ? nil : String(buffer: bytes))
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}

/// A self-signed certificate for this host, and its key.
private struct ServerCertificate: Sendable {
    let pem: String
    private let key: String

    init() throws {
        let key = try P256PrivateKey()
        let form = CertificateForm(
            subject: [(type: "CN", value: "Fanfare \(UUID().uuidString.prefix(8))")],
            days: 1,
            extensions: [
                (name: "basicConstraints", value: "critical,CA:TRUE"),
                (name: "subjectAltName", value: "DNS:localhost"),
            ]
        )
        pem = try form.certificate(for: key).pem()
        self.key = try key.pem()
    }

    /// Replaces the files of both.
    func write(to folder: URL, hasKey: Bool = true, mode: Int = 0o600) throws {
        try Data(pem.utf8).write(to: folder.appending(path: "chain.pem"), options: .atomic)
        guard hasKey else { return }
        let file = folder.appending(path: "key.pem")
        try Data(key.utf8).write(to: file, options: .atomic)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file.path)
    }
}
