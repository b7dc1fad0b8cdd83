import Foundation
import PushSandbox

/// A push by the `curl` command, which shares nothing with NIO.
struct Curl {
    /// Status and HTTP version, divided by a blank.
    let output: String
    let errors: String
    let exitCode: Int32

    static func push(_ request: TestRequest, to sandbox: PushSandbox, host: String = "localhost") throws -> Curl {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments =
            [
                "curl", "-sS", "--http2", "--max-time", "30", "--cacert", sandbox.ready.caFile, "-o", "/dev/null",
                "-w", "%{http_code} %{http_version}", "-d", request.body,
            ] + request.headers.flatMap { ["-H", "\($0.0): \($0.1)"] } + [
                "https://\(host):\(sandbox.tlsPort)\(request.path)"
            ]
        let (output, errors) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        let text = output.fileHandleForReading.readDataToEndOfFile()
        let complaints = errors.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return Curl(
            output: String(decoding: text, as: UTF8.self),
            errors: String(decoding: complaints, as: UTF8.self),
            exitCode: process.terminationStatus
        )
    }
}
