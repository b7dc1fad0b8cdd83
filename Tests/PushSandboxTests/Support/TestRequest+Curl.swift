import Programs
import PushSandbox

extension TestRequest {
    /// Sends this push by the `curl` command, which shares no code with NIO.
    ///
    /// - Returns: the command; its output is status and HTTP version, separated by a blank.
    func pushByCurl(to sandbox: PushSandbox, host: String = "localhost") async throws -> Command {
        try await Command.run(
            [
                "curl", "-sS", "--http2", "--max-time", "30", "--cacert", sandbox.ready.caFile, "-o", "/dev/null",
                "-w", "%{http_code} %{http_version}", "-d", body,
            ] + headers.flatMap { ["-H", "\($0.0): \($0.1)"] } + ["https://\(host):\(sandbox.tlsPort)\(path)"]
        )
    }
}
