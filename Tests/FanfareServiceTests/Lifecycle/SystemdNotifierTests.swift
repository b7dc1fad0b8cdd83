import Foundation
import Glibc
import Logging
import Testing
import Threading

@testable import DaemonKit
@testable import FanfareConfiguration
@testable import FanfareDaemon
@testable import FanfareLogging
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareTools

@Suite struct SystemdNotifierTests {
    private static let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    @Test(arguments: ["/", "@"]) func messagesReachTheSocket(kind: String) throws {
        let name = "fanfare-\(UUID().uuidString.prefix(8))"
        let path = FileManager.default.temporaryDirectory.appending(path: name).path
        let address = kind == "@" ? "@\(name)" : path
        let receiver = NotifySocket(address)
        defer { unlink(path) }
        let notifier = SystemdNotifier(
            environment: ["NOTIFY_SOCKET": address],
            processID: 1,
            logger: Self.silent
        )
        notifier.ready(status: "listening\nREADY=0")
        #expect(receiver.receive() == "READY=1\nSTATUS=listening READY=0")
        notifier.stopping()
        #expect(receiver.receive() == "STOPPING=1")
        notifier.watchdog()
        #expect(receiver.receive() == "WATCHDOG=1")
        let before = KernelClock.monotonic.microseconds
        notifier.reloading()
        let message = receiver.receive()
        let prefix = "RELOADING=1\nMONOTONIC_USEC="
        #expect(message.hasPrefix(prefix))
        let time = try #require(Int64(message.dropFirst(prefix.count)))
        #expect((before...KernelClock.monotonic.microseconds).contains(time))
    }

    @Test func whatCannotBeSentIsLoggedAndNothingElse() {
        let sink = Locked<[String]>([])
        let output = LogOutput(
            Configuration.Log(),
            colour: false,
            now: { LogTimestamp(microsecondsSince1970: 0) },
            writer: LogWriter { bytes in sink.withLock { $0.append(String(decoding: bytes, as: UTF8.self)) } }
        )
        let notifier = SystemdNotifier(
            environment: ["NOTIFY_SOCKET": "/nowhere/notify"],
            processID: 1,
            logger: output.logger()
        )
        notifier.ready()
        #expect(output.close())
        let text = sink.withLock { $0.joined() }
        #expect(text.contains(#""level":"warning","msg":"systemd not notified""#))
        #expect(text.contains(#""error":"sendto: No such file or directory""#))
        SystemdNotifier(environment: [:], processID: 1, logger: Self.silent).ready()
    }

    @Test(arguments: ["", "x", "vsock:2:3", "/" + String(repeating: "a", count: 120), "@"])
    func otherAddressesAreRefused(address: String) {
        #expect {
            try UnixDatagram.send("READY=1", to: address)
        } throws: {
            "\($0)" == "sendto: Invalid argument"
        }
    }

    @Test func theWatchdogIsMeantForThisProcessOnly() {
        func interval(_ environment: [String: String]) -> Duration? {
            SystemdNotifier(environment: environment, processID: 7, logger: Self.silent).watchdogInterval
        }
        #expect(interval(["WATCHDOG_USEC": "30000000"]) == .seconds(30))
        #expect(interval(["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "7"]) == .seconds(30))
        #expect(interval(["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "8"]) == nil)
        #expect(interval(["WATCHDOG_USEC": "soon"]) == nil)
        #expect(interval([:]) == nil)
    }
}
