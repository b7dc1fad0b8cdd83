import Logging
import Threading

@testable import FanfareConfiguration
@testable import FanfareLogging
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

/// The log of a test.
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

    /// A logger that writes to this log.
    var logger: Logger { output.logger() }

    /// Returns the number of lines so far that contain a text.
    func count(of text: String) -> Int {
        written.withLock { $0.joined() }.split(separator: "\n").count { $0.contains(text) }
    }

    /// Ends the log.
    ///
    /// - Returns: its lines as text without the time; keys are sorted.
    func end() -> [String] {
        output.close()
        let time = "\(LogTimestamp(microsecondsSince1970: 0)) "
        return written.withLock { $0.joined() }.split(separator: "\n").map { String($0.dropFirst(time.count)) }
    }
}
