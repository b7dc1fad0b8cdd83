import Foundation
import Logging
import Testing
import Threading

@testable import DaemonKit
@testable import FanfareConfiguration
@testable import FanfareLogging
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareTools

/// A sink that collects written lines.
private final class Sink: Sendable {
    let writes = Locked<[[UInt8]]>([])

    var lines: [Substring] {
        let bytes = writes.withLock { $0 }.flatMap { $0 }
        return String(decoding: bytes, as: UTF8.self)[...].split(separator: "\n")
    }

    func take(_ bytes: [UInt8]) { writes.withLock { $0.append(bytes) } }
}

private struct Refused: Error {}

@Suite struct LogOutputTests {
    private func output(_ settings: Configuration.Log, _ sink: Sink) -> LogOutput {
        LogOutput(
            settings,
            colour: false,
            now: { LogTimestamp(microsecondsSince1970: 0) },
            writer: LogWriter { sink.take($0) }
        )
    }

    @Test func aFileIsReplacedByTheNextRun() throws {
        let path = NSTemporaryDirectory() + "fanfare-log-" + UUID().uuidString.prefix(13)
        defer { try? FileManager.default.removeItem(atPath: path) }
        var settings = Configuration.Log()
        settings.format = .text
        for message: Logger.Message in ["first", "second"] {
            let output = try LogOutput(settings, replacing: path)
            output.logger().notice(message)
            #expect(output.close())
        }
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(text.hasSuffix(" NOTICE   second\n") && !text.contains("first"))
    }

    @Test func loggersShareLevelAndFormAndAReloadReachesThem() {
        let sink = Sink()
        var settings = Configuration.Log()
        let output = output(settings, sink)
        let logger = output.logger().with(.app, "shop")
        logger.debug("too fine")
        logger.info("first", metadata: .init([.attempt: .stringConvertible(1)]))
        settings.level = .debug
        settings.format = .text
        output.apply(settings)
        logger.debug("second", metadata: ["app": "other"])
        var quiet = logger
        quiet.logLevel = .error
        quiet.info("not this one")
        #expect(output.close())
        #expect(
            sink.lines == [
                #"{"ts":"1970-01-01T00:00:00.000000Z","level":"info","msg":"first","v":2,"app":"shop","attempt":1}"#,
                "1970-01-01T00:00:00.000000Z DEBUG    second app=other",
            ]
        )
    }

    @Test func theJournalGetsThePriorityOfEachLine() {
        let sink = Sink()
        let output = LogOutput(
            Configuration.Log(),
            colour: false,
            priorities: true,
            now: { LogTimestamp(microsecondsSince1970: 0) },
            writer: LogWriter { sink.take($0) }
        )
        let logger = output.logger()
        for level in [Logger.Level.info, .notice, .warning, .error, .critical] { logger.log(level: level, "said") }
        #expect(output.close())
        #expect(sink.lines.map { $0.prefix(4) } == ["<6>{", "<5>{", "<4>{", "<3>{", "<2>{"])
    }

    @Test func theJournalIsKnownByItsSocket() {
        #expect(JournalStream.isConnected(file: "socket:[4711]", variable: "8:4711"))
        let others: [(String?, String?)] = [
            ("socket:[4711]", "8:471"), ("pipe:[4711]", "8:4711"), ("socket:[4711]", nil), (nil, "8:4711"),
            ("socket:[]", "8:"), ("/dev/pts/0", ""),
        ]
        for (file, variable) in others { #expect(!JournalStream.isConnected(file: file, variable: variable)) }
    }

    @Test func aFatalErrorIsALineWhereAProgramReads() throws {
        for format in [Configuration.Log.Format.json, .text] {
            let sink = Sink()
            var settings = Configuration.Log()
            settings.format = format
            let output = output(settings, sink)
            let error = ToolError(.configuration, "this is a copy", at: "postgres:///app", hint: "Run `fanfare adopt`.")
            #expect(output.tell(fatal: error) == (format == .json))
            #expect(output.close())
            guard format == .json else { continue }
            let line = try #require(sink.lines.first)
            #expect(line.contains(#""level":"critical","msg":"the daemon ends""#))
            #expect(line.contains(#""error":"this is a copy","hint":"Run `fanfare adopt`.","where":"postgres:///app""#))
        }
    }

    @Test func linesOfManyThreadsStayWholeAndWritesStaySmall() {
        let sink = Sink()
        let output = output(Configuration.Log(), sink)
        let logger = output.logger()
        let workers = (0..<4).map { worker in
            WorkerThread.start(name: "test") {
                for number in 0..<250 {
                    logger.info("line", metadata: ["n": .stringConvertible(worker * 250 + number)])
                }
            }
        }
        for worker in workers { worker.join() }
        #expect(output.close())
        #expect(sink.lines.count == 1000)
        #expect(Set(sink.lines).count == 1000)
        #expect(sink.lines.allSatisfy { $0.hasPrefix("{") && $0.hasSuffix("}") })
        for write in sink.writes.withLock({ $0 }) {
            #expect(write.last == UInt8(ascii: "\n") && write.count <= LogWriter.chunk)
        }
    }

    @Test func aReaderThatStoppedBlocksNobodyAndLossesAreCounted() {
        let (entered, gate, sink) = (Mailbox<Void>(), Mailbox<Void>(), Sink())
        let writer = LogWriter(limit: 100) { bytes in
            entered.put(())
            _ = gate.take()
            sink.take(bytes)
        }
        let notice: (Int) -> String = { "dropped \($0)\n" }
        writer.put("first\n", droppedNotice: notice)
        _ = entered.take()
        writer.put(String(repeating: "x", count: 200) + "\n", droppedNotice: notice)
        writer.put(String(repeating: "y", count: 95) + "\n", droppedNotice: notice)
        writer.put("last\n", droppedNotice: notice)
        #expect(!writer.close(timeout: .zero))
        gate.close()
        #expect(writer.close(timeout: .seconds(60)))
        #expect(sink.lines == ["first", "dropped 2", "last"])
    }

    @Test func failedWritesAreCountedToo() {
        let (sink, fail, entered) = (Sink(), Locked(true), Mailbox<Void>())
        let writer = LogWriter { bytes in
            entered.put(())
            if fail.withLock({ $0 }) { throw Refused() }
            sink.take(bytes)
        }
        writer.put("lost\n", droppedNotice: { _ in "" })
        _ = entered.take()
        // The count is raised after the write, so only the next write shows that it was.
        writer.put("lost\n", droppedNotice: { _ in "" })
        _ = entered.take()
        fail.withLock { $0 = false }
        writer.put("kept\n", droppedNotice: { "dropped \($0)\n" })
        #expect(writer.close(timeout: .seconds(60)))
        #expect(sink.lines.last == "kept")
    }
}
