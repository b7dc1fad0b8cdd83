import Foundation
import PushTransport
import TestKit

/// `openssl s_server` with a certificate of its own making: a peer for handshakes that the sandbox would not do.
struct TLSServer {
    let port: Int
    private let process: ProgramProcess
    private let folder: String

    /// Starts a server whose certificate names the given host.
    static func start(host: String) async throws -> TLSServer {
        let folder = NSTemporaryDirectory() + "fanfare-tls-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let certificate = [
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
            "-keyout", folder + "/key.pem", "-out", folder + "/cert.pem",
            "-subj", "/CN=" + host, "-addext", "subjectAltName=DNS:" + host,
        ]
        let made = try await onThread("openssl") { try ProgramProcess("/usr/bin/openssl", certificate) }
        _ = await made.exitStatus()
        let arguments = [
            "s_server", "-accept", "localhost:0", "-alpn", "h2", "-www",
            "-cert", folder + "/cert.pem", "-key", folder + "/key.pem",
        ]
        let process = try await onThread("openssl") { try ProgramProcess("/usr/bin/openssl", arguments) }
        for await line in process.output {
            guard line.hasPrefix("ACCEPT"), let port = line.split(separator: ":").last.flatMap({ Int($0) }) else {
                continue
            }
            return TLSServer(port: port, process: process, folder: folder)
        }
        throw CocoaError(.executableLoad)
    }

    var endpoint: Endpoint {
        get throws { try Endpoint("https://localhost:\(port)") }
    }

    /// Options that trust this server's certificate.
    var options: TransportOptions {
        var options = TransportOptions()
        options.caFile = folder + "/cert.pem"
        return options
    }

    func stop() async {
        await process.stop()
        try? FileManager.default.removeItem(atPath: folder)
    }
}
