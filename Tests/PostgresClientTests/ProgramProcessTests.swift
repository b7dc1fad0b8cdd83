import Foundation
import Programs
import TestKit
import Testing

@Suite(.timeLimit(.minutes(5))) struct ProgramProcessTests {
    private func shell(_ script: String, environment: [String: String] = [:]) async throws -> ProgramProcess {
        try await ProgramProcess("/bin/sh", ["-c", script], environment: environment)
    }

    @Test func linesAndStatusComeBack() async throws {
        let program = try await shell(
            "echo one; echo \"$WORD\"; echo oops >&2; printf end; exit 3",
            environment: ["WORD": "two"]
        )
        var lines: [String] = []
        for await line in program.output { lines.append(line) }
        var errors: [String] = []
        for await line in program.errors { errors.append(line) }
        #expect(lines == ["one", "two", "end"])
        #expect(errors == ["oops"])
        #expect(await program.exitStatus() == 3)
    }

    @Test func signalsReachTheProgramItself() async throws {
        let program = try await shell(
            "echo ready; exec sleep 1000"
        )
        var lines = program.output.makeAsyncIterator()
        #expect(await lines.next() == "ready")
        program.signal(SIGKILL)
        #expect(await program.exitStatus() == 128 + SIGKILL)
        #expect(await lines.next() == nil)
    }

    @Test func stopIsPolite() async throws {
        let program = try await shell("trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.01; done")
        var lines = program.output.makeAsyncIterator()
        #expect(await lines.next() == "ready")
        #expect(await program.stop() == 7)
        #expect(await lines.next() == "bye")
    }

    @Test func itDiesWithItsProcess() async throws {
        // The program holds the write end of a FIFO; end of file means that it has exited.
        let fifo = NSTemporaryDirectory() + "fanfare-fifo-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: fifo) }
        try #require(mkfifo(fifo, 0o600) == 0)
        let reader = try await shell("cat '\(fifo)'; echo gone")
        await #expect(processExitsWith: .signal(SIGKILL)) { [fifo = fifo as String] in
            let program = try await ProgramProcess(
                "/bin/sh",
                ["-c", "exec 5>'\(fifo)'; echo here >&5; echo up; exec sleep 1000"]
            )
            for await _ in program.output { kill(getpid(), SIGKILL) }
        }
        var lines: [String] = []
        for await line in reader.output { lines.append(line) }
        #expect(lines == ["here", "gone"])
    }

    @Test func aMissingProgramIsAnExitStatus() async throws {
        let program = try await ProgramProcess("/nonexistent/program", [])
        #expect(await program.exitStatus() == 127)
    }

    /// More than a pipe holds, to a program that reads none of it.
    @Test func inputThatIsNotReadIsNoError() async throws {
        let command = try await Command.run(
            ["sh", "-c", "echo out; echo err >&2; exit 3"],
            input: String(repeating: "x", count: 1 << 20)
        )
        #expect(command.status == 3)
        #expect(command.output == "out\n" && command.errors == "err\n")
        let echo = try await Command.run(["cat"], input: "in")
        #expect(echo.output == "in")
    }
}
