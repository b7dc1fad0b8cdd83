import Foundation
import Programs
import TestKit

/// A server with the simulated provider's certificate that sends the same bytes on each connection.
final class HostileServer: Sendable {
    /// The bytes that it sends a second after the connection was made, when a first request is in progress.
    enum Speech: String, Sendable, CaseIterable {
        case garbage = "garbage frames"
        case pings = "a flood of PING"
        case settings = "a flood of SETTINGS"
        case headers = "a header of 2 MB"

        /// The bytes after the first SETTINGS frame.
        var bytes: [UInt8] {
            switch self {
            case .garbage:
                var generator = SeededGenerator(seed: 7)
                return (0..<65_536).map { _ in UInt8.random(in: 0...255, using: &generator) }
            case .pings:
                return Self.repeated(Self.frame(6, Array("flooding".utf8)), 200_000)
            case .settings:
                // The initial window, unchanged.
                return Self.repeated(Self.frame(4, [0, 4, 0, 0, 0xff, 0xff]), 200_000)
            case .headers:
                // `:status: 200` in a block that never ends, so that the response is never complete, and fields `x` of
                // 16,000 bytes that no table stores.
                let field: [UInt8] = [0, 1, 0x78, 0x7f, 0x81, 0x7c] + [UInt8](repeating: 0x61, count: 16_000)
                return Self.frame(1, [0x88], stream: 1) + Self.repeated(Self.frame(9, field, stream: 1), 125)
            }
        }

        /// Returns a frame without flags (RFC 9113 section 4.1), so that no header block ever ends.
        static func frame(_ type: UInt8, _ payload: [UInt8], stream: UInt8 = 0) -> [UInt8] {
            let length = payload.count
            return [UInt8(length >> 16), UInt8(length >> 8 & 0xff), UInt8(length & 0xff), type, 0, 0, 0, 0, stream]
                + payload
        }

        private static func repeated(_ bytes: [UInt8], _ count: Int) -> [UInt8] {
            Array(repeatElement(bytes, count: count).joined())
        }
    }

    let port: Int
    private let process: ProgramProcess
    private let folder: String

    /// Starts to listen.
    ///
    /// - Parameters:
    ///   - speech: the bytes that it sends.
    ///   - sandbox: the folder with the certificate.
    init(_ speech: Speech, sandbox: String) async throws {
        folder = NSTemporaryDirectory() + "fanfare-hostile-" + UUID().uuidString.prefix(13).lowercased()
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try Data(Speech.frame(4, [])).write(to: URL(fileURLWithPath: folder + "/first"))
        try Data(speech.bytes).write(to: URL(fileURLWithPath: folder + "/speech"))
        let (descriptor, port) = try LoopbackSocket.listen()
        close(descriptor)
        self.port = port
        // One process for each connection, so that each gets the bytes from the start. The feeding process ends with
        // the test.
        process = try await ProgramProcess(
            "/bin/bash",
            [
                "-c",
                #"""
                trap 'kill "$server"' EXIT
                while :; do
                    timeout 900 openssl s_server "$@" < <(cat first; sleep 1; cat speech; exec tail --pid=$$ -f /dev/null) &
                    server=$!
                    wait "$server"
                done
                """#,
                "bash", "-accept", "127.0.0.1:\(port)", "-cert", sandbox + "/server.pem",
                "-key", sandbox + "/server-key.pem", "-quiet", "-alpn", "h2", "-naccept", "1",
            ],
            directory: folder
        )
        let (output, errors) = (process.output, process.errors)
        // The clients' bytes are read and ignored; both tasks end with the process.
        _ = Task { for await _ in output {} }
        _ = Task { for await _ in errors {} }
    }

    /// Stops the server and the processes that feed it.
    func stop() async {
        process.signal(SIGTERM)
        _ = await process.exitStatus()
        try? FileManager.default.removeItem(atPath: folder)
    }
}
