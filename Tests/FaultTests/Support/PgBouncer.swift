import Foundation
import Programs
import TestKit

/// PgBouncer in front of a server on loopback.
final class PgBouncer: Sendable {
    /// The pooling mode: when a client gets another session of the server.
    enum Mode: String, Sendable {
        case transaction, session
    }

    let port: Int
    private let process: ProgramProcess
    private let folder: String

    /// Starts PgBouncer, and waits until it accepts connections.
    ///
    /// - Throws: an error also if the program is missing; `deploy/faults.sh` installs it.
    init(to server: Int, mode: Mode) async throws {
        folder = NSTemporaryDirectory() + "fanfare-pool-" + UUID().uuidString.prefix(13).lowercased()
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let (descriptor, port) = try LoopbackSocket.listen()
        close(descriptor)
        self.port = port
        let configuration = """
            [databases]
            * = host=127.0.0.1 port=\(server)
            [pgbouncer]
            listen_addr = 127.0.0.1
            listen_port = \(port)
            unix_socket_dir =
            auth_type = trust
            auth_file = \(folder)/users
            pool_mode = \(mode.rawValue)
            default_pool_size = 5
            ignore_startup_parameters = extra_float_digits,options
            """
        try configuration.write(toFile: folder + "/pgbouncer.ini", atomically: true, encoding: .utf8)
        try "\"postgres\" \"\"\n".write(toFile: folder + "/users", atomically: true, encoding: .utf8)
        // PgBouncer refuses to run as root. A change of the user cancels the signal of ProgramProcess: set it again.
        let change = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "--pdeathsig=KILL", "--"]
        let user = getuid() == 0 ? change : []
        process = try await ProgramProcess(
            "/bin/sh",
            ["-c", #"PATH="$PATH:/usr/sbin"; exec "$@""#, "sh"] + user + ["pgbouncer", folder + "/pgbouncer.ini"]
        )
        var said: [String] = []
        for await line in process.errors {
            said.append(line)
            if line.contains("process up") { return }
        }
        throw RigError(message: "pgbouncer ended: \(said.suffix(3).joined(separator: "; "))")
    }

    /// Stops PgBouncer.
    func stop() async {
        process.signal(SIGKILL)
        _ = await process.exitStatus()
        try? FileManager.default.removeItem(atPath: folder)
    }
}
