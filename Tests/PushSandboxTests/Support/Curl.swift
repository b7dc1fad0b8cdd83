import PushSandbox

/// A push by the `curl` command, which shares no code with NIO.
struct Curl {
    /// Status and HTTP version, separated by a blank.
    let output: String
    let errors: String
    let exitCode: Int32

    static func push(_ request: TestRequest, to sandbox: PushSandbox, host: String = "localhost") throws -> Curl {
        let child = try ChildProcess.run(
            [
                "curl", "-sS", "--http2", "--max-time", "30", "--cacert", sandbox.ready.caFile, "-o", "/dev/null",
                "-w", "%{http_code} %{http_version}", "-d", request.body,
            ] + request.headers.flatMap { ["-H", "\($0.0): \($0.1)"] } + [
                "https://\(host):\(sandbox.tlsPort)\(request.path)"
            ]
        )
        return Curl(output: child.output, errors: child.errors, exitCode: child.exitCode)
    }
}
