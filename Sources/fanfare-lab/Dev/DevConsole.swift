internal import FanfareLogging
import FanfareService
import Foundation
import PushSandbox

/// The standard output of `fanfare dev`, unbuffered also for a pipe.
struct DevConsole: Sendable {
    private let isColoured: Bool

    /// Creates the console, with colours according to ``TerminalStyle``.
    init() {
        let environment = ProcessInfo.processInfo.environment
        isColoured = TerminalStyle(isTerminal: isatty(STDOUT_FILENO) == 1, environment: environment).isColoured
    }

    /// Writes a line.
    func line(_ text: String = "") {
        // If the terminal is closed, there is nothing to write to.
        try? FileHandle.standardOutput.write(contentsOf: Data((text + "\n").utf8))
    }

    /// Reports that a part has started.
    func step(_ name: String, _ detail: String, since began: ContinuousClock.Instant) {
        let seconds = (ContinuousClock.now - began) / .seconds(1)
        let padded = name + String(repeating: " ", count: max(1, 16 - name.count))
        line("  \(colour("32", "✓")) \(padded)\(detail)  \(colour("2", String(format: "%.1f s", seconds)))")
    }

    /// Shows a statement.
    func sql(_ statement: String) {
        line("  \(colour("36", statement))")
    }

    /// Shows a push.
    func push(_ push: ReceivedPush) {
        for text in push.describe().split(separator: "\n", omittingEmptySubsequences: false) {
            line("  \(text)")
        }
    }

    /// Suggests the next steps.
    func hints(_ stack: DevStack, _ directory: String) {
        line()
        line("Yours now, in another terminal:")
        line("  psql '\(stack.databaseURL)'")
        line()
        line("1. Pushes, once it is committed:")
        sql("UPDATE orders SET status = 'shipped' WHERE customer_id = 'bob';")
        line("2. Pushes nothing, since it is rolled back:")
        sql("BEGIN; UPDATE orders SET status = 'new'; UPDATE orders SET status = 'shipped'; ROLLBACK;")
        line("3. To everybody with topic 'news' but not 'muted', which is alice and carol:")
        sql(#"SELECT fanfare.emit('sale.started', '{"name": "Spring sale"}');"#)
        line("4. Your browser as alice's, where it can reach its maker's push service: open \(stack.pageAddress)")
        line()
        line("The console, where you see what became of each push and why one did not come:")
        line("  \(stack.consoleAddress)")
        line()
        line("The same in SQL, and in the terminal:")
        sql("SELECT * FROM fanfare.deliveries ORDER BY at DESC;")
        line("  \(MainProgram.name) tail -c \(directory)/sandbox/fanfare.yaml")
        line()
        line("Further pushes appear here. Ctrl-C ends it all.")
    }

    private func colour(_ code: String, _ text: String) -> String {
        isColoured ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }
}
