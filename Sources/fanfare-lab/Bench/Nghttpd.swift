import Foundation

extension BenchPlace {
    /// Starts nghttpd on a free port of 127.0.0.1.
    ///
    /// - Parameters:
    ///   - certificates: a folder with `server.pem` and `server-key.pem`.
    ///   - threads: the number of threads.
    /// - Returns: the server's origin.
    /// - Throws: if it is not installed or does not start.
    func startNghttpd(certificates: String, threads: Int = 1) throws -> String {
        guard let program = Self.program("nghttpd") else {
            throw BenchError("nghttpd is not installed; on Debian: apt install nghttp2-server")
        }
        let identity = ["server-key.pem", "server.pem"].map { certificates + "/" + $0 }
        let inMemory = canMountInMemory()
        if !inMemory { note("nghttpd keeps each body in a file in /tmp: figures go by the disk") }
        for _ in 0..<8 {
            // A port cannot be reserved for another process: a random one is tried.
            let port = Int.random(in: 20_000..<60_000)
            let command = [program, "--echo-upload", "-n\(threads)", "-a", "127.0.0.1", "\(port)"]
            let server =
                if inMemory {
                    try BenchProcess(
                        "unshare",
                        Self.ownMounts + ["/bin/sh", "-c", Self.inMemory, "sh"] + identity + command,
                        log: directory + "/nghttpd.log"
                    )
                } else {
                    try BenchProcess(program, command.dropFirst() + identity, log: directory + "/nghttpd.log")
                }
            atEnd { server.kill() }
            while !server.hasEnded {
                if ProcessFiles.isListening(port: port) { return "https://localhost:\(port)" }
                Thread.sleep(forTimeInterval: 0.02)
            }
        }
        throw BenchError("nghttpd did not start; its log: " + directory + "/nghttpd.log")
    }

    /// Options of unshare(1): a mount namespace inside a user namespace, so that no privileges are needed.
    private static let ownMounts = ["--map-root-user", "--mount"]

    /// Runs nghttpd with `/tmp` in memory, and copies its key and certificate there, because their folder may be below
    /// `/tmp`.
    ///
    /// With `--echo-upload`, nghttpd creates a file in `/tmp` for each request. On a disk that dominates and grows
    /// slower over time: 4,000 requests a second instead of 60,000.
    private static let inMemory = #"""
        key=$(cat "$1") && certificate=$(cat "$2") && shift 2 &&
        mount -t tmpfs tmpfs /tmp && umask 077 &&
        echo "$key" >/tmp/key.pem && echo "$certificate" >/tmp/certificate.pem &&
        exec "$@" /tmp/key.pem /tmp/certificate.pem
        """#

    /// Returns whether this user may create mount namespaces.
    private func canMountInMemory() -> Bool {
        let mount = ["mount", "-t", "tmpfs", "tmpfs", "/tmp"]
        let log = directory + "/unshare.log"
        guard let attempt = try? BenchProcess("unshare", Self.ownMounts + mount, log: log) else { return false }
        return attempt.wait() == 0
    }
}
