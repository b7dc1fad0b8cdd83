import Foundation
import TestKit

/// A server with the simulated provider's certificate that answers each connection with the same bytes.
final class HostileServer: Sendable {
    /// What it says a second after a connection was made, when a first request is under way.
    enum Speech: String, Sendable, CaseIterable {
        case garbage = "garbage frames"
        case pings = "a flood of PING"
        case settings = "a flood of SETTINGS"
        case headers = "a header of 2 MB"

        /// Bytes beyond the first SETTINGS frame.
        var bytes: [UInt8] {
            switch self {
            case .garbage:
                var generator = SeededGenerator(seed: 7)
                return (0..<65_536).map { _ in UInt8.random(in: 0...255, using: &generator) }
            case .pings:
                return Self.repeated(Self.frame(6, Array("flooding".utf8)), 200_000)
            case .settings:
                // The initial window, which is as it was.
                return Self.repeated(Self.frame(4, [0, 4, 0, 0, 0xff, 0xff]), 200_000)
            case .headers:
                // `:status: 200`, which is not to be believed of a block that never ends, and fields `x` of 16,000 bytes
                // that no table keeps.
                let field: [UInt8] = [0, 1, 0x78, 0x7f, 0x81, 0x7c] + [UInt8](repeating: 0x61, count: 16_000)
                return Self.frame(1, [0x88], stream: 1) + Self.repeated(Self.frame(9, field, stream: 1), 125)
            }
        }

        /// Without flags (RFC 9113 section 4.1): no header block ever ends.
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
    ///   - speech: what it says.
    ///   - sandbox: the folder that holds the certificate.
    init(_ speech: Speech, sandbox: String) throws {
        folder = NSTemporaryDirectory() + "fanfare-hostile-" + UUID().uuidString.prefix(13).lowercased()
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try Data(Speech.frame(4, [])).write(to: URL(fileURLWithPath: folder + "/first"))
        try Data(speech.bytes).write(to: URL(fileURLWithPath: folder + "/speech"))
        let (descriptor, port) = try LoopbackSocket.listen()
        close(descriptor)
        self.port = port
        // One process for each connection, so that each hears it from the beginning. Whoever feeds it ends with us.
        process = try ProgramProcess(
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
        // What clients say is nothing to us, but has to be read; both end with the process.
        _ = Task { for await _ in output {} }
        _ = Task { for await _ in errors {} }
    }

    /// Ends it, with what it feeds.
    func stop() async {
        process.signal(SIGTERM)
        _ = await process.exitStatus()
        try? FileManager.default.removeItem(atPath: folder)
    }
}
