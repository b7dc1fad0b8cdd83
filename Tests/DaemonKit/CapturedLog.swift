import Logging
import Threading

@testable import FanfareConfiguration
@testable import FanfareLogging
@testable import FanfareProviders
@testable import FanfareService
@testable import FanfareStages

/// What is logged in a test.
final class CapturedLog: Sendable {
    private let written: Locked<[String]>
    private let output: LogOutput

    init() {
        let written = Locked<[String]>([])
        var settings = Configuration.Log()
        settings.format = .text
        self.written = written
        output = LogOutput(
            settings,
            colour: false,
            now: { LogTimestamp(microsecondsSince1970: 0) },
            writer: LogWriter { bytes in written.withLock { $0.append(String(decoding: bytes, as: UTF8.self)) } }
        )
    }

    deinit {
        output.close()
    }

    /// Writes here.
    var logger: Logger { output.logger() }

    /// How many of the lines written so far hold a text.
    func count(of text: String) -> Int {
        written.withLock { $0.joined() }.split(separator: "\n").count { $0.contains(text) }
    }

    /// Ends the log.
    ///
    /// - Returns: its lines as text, without their time; keys are sorted.
    func end() -> [String] {
        output.close()
        let time = "\(LogTimestamp(microsecondsSince1970: 0)) "
        return written.withLock { $0.joined() }.split(separator: "\n").map { String($0.dropFirst(time.count)) }
    }
}
