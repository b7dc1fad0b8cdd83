import Foundation
import Programs
import TestKit
import Threading

/// A TLS server of `openssl` with a defect, which counts the bytes that clients send.
final class BadTLSServer: Sendable {
    let port: Int
    /// The file of its certificate's CA, to be trusted.
    let authorityFile: String
    private let process: ProgramProcess
    private let folder: String
    private let heard = Locked(0)
    private let reading: Task<Void, Never>

    init(isExpired: Bool, host: String, speaksALPN: Bool, isOld: Bool) async throws {
        folder = NSTemporaryDirectory() + "fanfare-tls-" + UUID().uuidString.prefix(13).lowercased()
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        authorityFile = folder + "/ca.pem"
        try await Self.makeCertificates(in: folder, isExpired: isExpired, host: host)
        let (descriptor, port) = try LoopbackSocket.listen()
        close(descriptor)
        self.port = port
        // Its input is a pipe that never ends: the server takes the end of its standard input for a command to stop.
        process = try await ProgramProcess(
            "/bin/sh",
            ["-c", #"mkfifo input; exec 0<>input; exec openssl s_server "$@""#, "sh"]
                + ["-accept", "127.0.0.1:\(port)", "-cert", "server.pem", "-key", "server.key", "-quiet"]
                + (speaksALPN ? ["-alpn", "h2"] : [])
                // Where OpenSSL still has the old version, it must be enabled explicitly.
                + (isOld ? ["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"] : []),
            directory: folder
        )
        let (output, heard) = (process.output, heard)
        // Ends with the process.
        reading = Task { for await line in output { heard.withLock { $0 += max(1, line.utf8.count) } } }
    }

    /// Stops the server.
    ///
    /// - Returns: the number of bytes that clients sent inside TLS.
    func stop() async -> Int {
        process.signal(SIGKILL)
        _ = await process.exitStatus()
        await reading.value
        try? FileManager.default.removeItem(atPath: folder)
        return heard.withLock { $0 }
    }

    private static func makeCertificates(in folder: String, isExpired: Bool, host: String) async throws {
        try "subjectAltName=DNS:\(host)\n".write(toFile: folder + "/names", atomically: true, encoding: .utf8)
        let curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        try await OpenSSL.run(
            ["req", "-x509"] + curve + ["-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=Fault CA"],
            in: folder
        )
        try await OpenSSL.run(
            ["req", "-new"] + curve + ["-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=\(host)"],
            in: folder
        )
        try await OpenSSL.run(
            [
                "x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile",
                "names",
            ]
                + ["-out", "server.pem", "-days", isExpired ? "-1" : "1"],
            in: folder
        )
    }
}
