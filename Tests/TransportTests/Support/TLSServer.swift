import Foundation
import Programs
import PushTransport
import TestKit
import Testing

/// `openssl s_server` with a generated certificate: a peer for handshakes that the sandbox does not support, and for
/// scripted output.
struct TLSServer {
    let port: Int
    private let reading: Task<[String], Never>
    private let process: ProgramProcess
    private let folder: String
    private let speech: FileHandle

    /// Starts a server whose certificate names the given host.
    ///
    /// - Parameters:
    ///   - host: the name in its certificate.
    ///   - saying: the bytes that it sends after its first input; if empty, it sends nothing. An answer before the
    ///     request would be for a stream that does not exist yet.
    ///   - protocolName: the protocol that it selects by ALPN; nil for HTTP/1.1 with output, else for HTTP/2.
    ///   - arguments: further arguments of `s_server`.
    static func start(
        host: String,
        saying: [UInt8]? = nil,
        by protocolName: String? = nil,
        _ arguments: [String] = []
    ) async throws -> TLSServer {
        let folder = NSTemporaryDirectory() + "fanfare-tls-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try await OpenSSL.run([
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
            "-keyout", folder + "/key.pem", "-out", folder + "/cert.pem",
            "-subj", "/CN=" + host, "-addext", "subjectAltName=DNS:" + host,
        ])
        let pipe = folder + "/speech"
        try #require(mkfifo(pipe, 0o600) == 0)
        // Opened for reading too, because opening would otherwise wait for the server.
        let speech = try FileHandle(forUpdating: URL(fileURLWithPath: pipe))
        // Linux's F_SETPIPE_SZ: a long output must not wait for a server that does not read it.
        try #require(fcntl(speech.fileDescriptor, 1031, 1 << 20) >= 1 << 20)
        let common = [
            "-accept", "localhost:0", "-alpn", protocolName ?? (saying == nil ? "h2" : "http/1.1"),
            "-cert", folder + "/cert.pem", "-key", folder + "/key.pem",
        ]
        let script = #"speech=$1; shift; exec openssl s_server "$@" <"$speech""#
        let process = try await ProgramProcess("/bin/sh", ["-c", script, "sh", pipe] + common + arguments)
        let (ports, found) = AsyncStream.makeStream(of: Int.self)
        // Ends with the process; `stop` waits for it.
        let reading = Task {
            var lines: [String] = []
            var unsaid = saying
            for await line in process.output {
                lines.append(line.trimmingCharacters(in: .whitespacesAndNewlines))
                if let bytes = unsaid, line.contains("HTTP/") {
                    unsaid = nil
                    try? speech.write(contentsOf: Data(bytes))
                }
                guard line.hasPrefix("ACCEPT"), let port = line.split(separator: ":").last else { continue }
                if let port = Int(port) { found.yield(port) }
            }
            found.finish()
            return lines
        }
        for await port in ports {
            return TLSServer(port: port, reading: reading, process: process, folder: folder, speech: speech)
        }
        throw CocoaError(.executableLoad)
    }

    /// Sends some bytes after the handshake, and then other bytes repeatedly, independent of requests.
    ///
    /// - Returns: the process that sends, to be stopped before the server.
    func flood(_ first: [UInt8], then bytes: [UInt8]) async throws -> ProgramProcess {
        let octal = [first, bytes].map { bytes in
            bytes.map { "\\" + String(Int($0) + 0o1000, radix: 8).dropFirst() }.joined()
        }
        // The shell's built-in printf, so that no child process remains.
        let script = #"exec >"$1"; printf "$2"; while printf "$3"; do :; done"#
        return try await ProgramProcess("/bin/sh", ["-c", script, "sh", folder + "/speech"] + octal)
    }

    var endpoint: Endpoint {
        get throws { try Endpoint("https://localhost:\(port)") }
    }

    var caFile: String { folder + "/cert.pem" }

    /// Returns options that trust this server's certificate.
    var options: TransportOptions {
        var options = TransportOptions()
        options.caFile = caFile
        return options
    }

    /// Stops the server.
    func stop() async {
        process.signal(SIGTERM)
        _ = await finished()
    }

    /// Waits until a server exits that was started with `-naccept`.
    ///
    /// - Returns: its output, including what it received.
    func finished() async -> [String] {
        _ = await process.exitStatus()
        let lines = await reading.value
        try? speech.close()
        try? FileManager.default.removeItem(atPath: folder)
        return lines
    }
}
