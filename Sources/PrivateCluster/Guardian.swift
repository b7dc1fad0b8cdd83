import Foundation
import Programs
import Subprocess
import SystemPackage
import Threading

/// A shell that starts the server, waits on its own standard input, and stops the server.
///
/// Its input is a pipe from this process. A line in it says how to stop; end of file means that this process has ended,
/// `kill -9` included, and the guardian stops the server. It has a process group of its own, so that neither Ctrl-C on
/// the terminal nor a signal to this process's group ends the server too early. It holds a lock on the directory for as
/// long as it runs.
final class Guardian: Sendable {
    /// The line for its standard input, which is then closed.
    private let orders: AsyncStream<String>.Continuation
    /// What the guardian says, line by line; closed when it has ended.
    private let answers: Mailbox<String>
    private let directories: ClusterDirectories

    private static let script = #"""
        set -eu
        umask 077
        bin=$1 home=$2 socket=$3 configuration=$4 ephemeral=$5
        # Only its input ends it; PIPE, since the parent may have exited when the server is ready.
        trap '' HUP INT TERM PIPE
        # pg_ctl passes paths to a shell in double quotes: it gets only these two, which contain no special characters.
        cd "$home"
        export PGDATA="$home/data"
        exec 9>lock 8>>guardian.log
        if ! flock -n 9; then
            echo in-use
            exit 1
        fi
        if [ ! -s data/PG_VERSION ]; then
            # An interrupted initdb leaves no directory under the final name.
            rm -rf data.new
            "$bin/initdb" -D data.new -U postgres -A trust -E UTF8 --locale=C.UTF-8 -N >&8 2>&1 9>&-
            mv data.new data
        fi
        printf '%s' "$configuration" >data/postgresql.conf
        # The lock was free, so a server that still runs here has lost its guardian.
        if "$bin/pg_ctl" status >&8 2>&1 9>&-; then
            "$bin/pg_ctl" -w -m immediate stop >&8 2>&1 9>&-
        fi
        "$bin/pg_ctl" -w -t 60 -l server.log start </dev/null >&8 2>&1 8>&- 9>&-
        read -r server <data/postmaster.pid
        echo ready || true
        if ! read -r mode end; then
            end=$ephemeral
            mode=fast
            [ "$ephemeral" = no ] || mode=immediate
        fi
        # If its directory was deleted, the server is stopped by its process id.
        "$bin/pg_ctl" -w -t 600 -m "$mode" stop </dev/null >&8 2>&1 9>&- || kill -QUIT "$server" || true
        if [ "$end" = yes ]; then
            cd /
            # If the parent directory is not writable, an empty directory remains.
            rm -rf "$socket" "$home" 2>/dev/null || true
        fi
        # The next guardian may start as soon as this one has said that the server is stopped.
        exec 9>&-
        echo stopped || true
        """#

    /// Starts the server, and returns when it accepts connections.
    ///
    /// - Throws: `directoryInUse`, `cannotStart`.
    init(
        _ binaries: ServerBinaries,
        _ directories: ClusterDirectories,
        user: ServerUser,
        configuration: String,
        ephemeral: Bool
    ) throws(ClusterError) {
        self.directories = directories
        var options = PlatformOptions()
        options.processGroupID = 0
        let shell = Configuration(
            executable: .name("env"),
            arguments: Arguments(
                user.prefix + ["sh", "-c", Self.script, "fanfare-postgres", binaries.directory]
                    + [directories.home, directories.socket, configuration, ephemeral ? "yes" : "no"]
            ),
            // PG… variables would change the behavior of the server's programs.
            environment: .custom(["PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL": "C", "TZ": "UTC"]),
            workingDirectory: FilePath(directories.home),
            platformOptions: options
        )
        let (stream, orders) = AsyncStream.makeStream(of: String.self)
        let answers = Mailbox<String>()
        (self.orders, self.answers) = (orders, answers)
        Task(executorPreference: ChildPrograms.thread) {
            do {
                _ = try await run(shell, input: .inputWriter, output: .sequence, error: .combinedWithOutput) {
                    guardian in
                    defer { answers.close() }
                    var lines = guardian.standardOutput.strings().makeAsyncIterator()
                    answers.put(try await lines.next() ?? "")
                    for await order in stream {
                        // Fails if the guardian was killed.
                        _ = try? await guardian.standardInputWriter.write(order + "\n")
                    }
                    try await guardian.standardInputWriter.finish()
                    while let line = try await lines.next() { answers.put(line) }
                }
            } catch {
                answers.put("a shell cannot be started: \(error)")
                answers.close()
            }
        }
        let answer = answers.take()?.first ?? ""
        guard answer == "ready" else {
            orders.finish()
            waitUntilEnd()
            throw Self.failure(answer, directories)
        }
    }

    deinit { orders.finish() }

    /// Stops the server and waits until it has exited.
    ///
    /// - Parameters:
    ///   - mode: the shutdown mode.
    ///   - deleting: whether the cluster's files are deleted too.
    func stop(_ mode: PrivateCluster.StopMode, deleting: Bool) {
        orders.yield("\(mode.rawValue) \(deleting ? "yes" : "no")")
        orders.finish()
        if !waitUntilEnd() { signalServer(mode) }
    }

    /// Waits until the guardian has closed its output, which does not depend on a thread of Swift's pool.
    ///
    /// - Returns: whether it stopped the server; false if it was killed.
    @discardableResult
    private func waitUntilEnd() -> Bool {
        var last: String?
        while let lines = answers.take() { last = lines.last ?? last }
        return last == "stopped"
    }

    /// Stops the server directly if the guardian was killed and left it running, and waits until it has exited.
    private func signalServer(_ mode: PrivateCluster.StopMode) {
        let file = directories.data + "/postmaster.pid"
        guard let text = try? String(contentsOfFile: file, encoding: .utf8),
            let server = text.split(separator: "\n").first.flatMap({ Int32($0) }), server > 1
        else { return }
        let signals: [PrivateCluster.StopMode: Int32] = [.smart: SIGTERM, .fast: SIGINT, .immediate: SIGQUIT]
        kill(server, signals[mode] ?? SIGINT)
        while FileManager.default.fileExists(atPath: file), kill(server, 0) == 0 { usleep(10_000) }
    }

    private static func failure(_ answer: String, _ directories: ClusterDirectories) -> ClusterError {
        if answer == "in-use" {
            return ClusterError(
                .directoryInUse,
                "another process runs the cluster in \(directories.home)",
                hint: "Stop it, or use another directory."
            )
        }
        let logs = [directories.log, directories.home + "/guardian.log"]
            .compactMap { try? String(contentsOfFile: $0, encoding: .utf8) }
            .map { $0.split(separator: "\n").suffix(5).joined(separator: "; ") }
        return ClusterError(
            .cannotStart,
            "the server in \(directories.home) did not start: " + ([answer] + logs).joined(separator: " | "),
            hint: "Its log is \(directories.log)."
        )
    }
}
