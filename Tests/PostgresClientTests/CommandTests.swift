import Foundation
import Programs
import Testing

@Suite(.timeLimit(.minutes(2))) struct CommandTests {
    @Test func aCommandHasItsOutputErrorsAndStatus() async throws {
        let script = ["sh", "-c", "cat; echo wrong >&2; exit 7"]
        let command = try await Command.run(script, input: "given\n")
        #expect(command.output == "given\n" && command.errors == "wrong\n" && command.status == 7)
        #expect(try await Command.run(["sh", "-c", "kill -9 $$"]).status == 128 + SIGKILL)
        #expect(try await Command.run(["/does/not/exist"]).status == 127)
    }

    @Test func aCommandMayPrint16MiB() async throws {
        let size = 16 << 20
        #expect(try await Command.run(["head", "-c", "\(size)", "/dev/zero"]).output.utf8.count == size)
        await #expect(throws: POSIXError.self) { try await Command.run(["head", "-c", "\(size + 1)", "/dev/zero"]) }
    }

    /// Tasks that block all threads of Swift's pool get their results, because no part of the way to them needs the pool.
    @Test func commandsEndWhileThePoolIsBlocked() async throws {
        let tasks = ProcessInfo.processInfo.activeProcessorCount * 4
        let statuses = try await withThrowingTaskGroup(of: Int32.self) { group in
            for number in 0..<tasks {
                group.addTask { try Command.wait(for: ["sh", "-c", "exit \(number % 100)"]).status }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses.sorted() == (0..<tasks).map { Int32($0 % 100) }.sorted())
    }
}
