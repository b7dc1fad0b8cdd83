import FanfareCore
import Foundation
import Logging
import Programs
import TestKit
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

@Suite struct PulsesTests {
    @Test func whoDoesNotComeRoundHangsAndWhoEndedDoesNot() {
        let now = Locked<Microseconds>(0)
        let pulses = Pulses(now: { now.withLock { $0 } })
        #expect(pulses.hanging.isEmpty)
        for name in ["planner", "slicer", "claimer"] { pulses.beat(name) }
        now.withLock { $0 = Pulses.patience }
        pulses.beat("planner")
        #expect(pulses.hanging.isEmpty)
        now.withLock { $0 += 1 }
        #expect(pulses.hanging == ["claimer", "slicer"])
        pulses.rest("slicer")
        pulses.beat("claimer")
        #expect(pulses.hanging.isEmpty)
    }
}

@Suite(.timeLimit(.minutes(5))) struct WatchdogTests {
    @Test func thePingStopsWhileSomethingHangs() throws {
        let address = "@fanfare-\(UUID().uuidString.prefix(8))"
        let socket = NotifySocket(address)
        let logged = Locked<[String]>([])
        let output = LogOutput(
            Configuration.Log(),
            colour: false,
            now: { LogTimestamp(microsecondsSince1970: 0) },
            writer: LogWriter { bytes in logged.withLock { $0.append(String(decoding: bytes, as: UTF8.self)) } }
        )
        let now = Locked<Microseconds>(0)
        let watchdog = Watchdog(
            notifier: SystemdNotifier(
                environment: ["NOTIFY_SOCKET": address, "WATCHDOG_USEC": "1000000"],
                processID: 1,
                logger: output.logger()
            ),
            pulses: Pulses(now: { now.withLock { $0 } }),
            logger: output.logger()
        )
        watchdog.pulses.beat("planner")
        watchdog.ping()
        #expect(socket.receive() == "WATCHDOG=1")
        now.withLock { $0 = Pulses.patience + 1 }
        watchdog.ping()
        #expect(socket.receive() == "")
        watchdog.pulses.beat("planner")
        watchdog.ping()
        #expect(socket.receive() == "WATCHDOG=1")
        #expect(output.close())
        let lines = logged.withLock { $0.joined() }.split(separator: "\n")
        #expect(lines.count == 1)
        #expect(lines.first?.contains(#""msg":"a stage hangs; the watchdog is left to end the daemon""#) == true)
        #expect(lines.first?.contains(#""stage":"planner""#) == true)
    }

    @Test func itPingsUntilItIsCancelledAndOnlyWhereSomebodyWatches() async throws {
        let address = "@fanfare-\(UUID().uuidString.prefix(8))"
        let socket = NotifySocket(address)
        let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let watchdog = { (usec: String?) in
            var environment = ["NOTIFY_SOCKET": address]
            environment["WATCHDOG_USEC"] = usec
            let notifier = SystemdNotifier(environment: environment, processID: 1, logger: silent)
            return Watchdog(notifier: notifier, pulses: Pulses(), logger: silent)
        }
        await watchdog(nil).run()
        #expect(socket.receive() == "")
        let running = Task { await watchdog("20000").run() }
        for _ in 0..<3 { #expect(try await onThread { socket.receive(seconds: 30) } == "WATCHDOG=1") }
        running.cancel()
        await running.value
    }
}

@Suite(.database, .timeLimit(.minutes(5))) struct WatchedDaemonTests {
    @Test func aDaemonPingsFromReadyToTheEndOfItsDrain() async throws {
        try sql("SELECT fanfare.adopt()")
        let address = "@fanfare-\(UUID().uuidString.prefix(8))"
        let socket = NotifySocket(address)
        let daemon = try await ProgramProcess(
            FanfareBinary.path(),
            ["serve", "--database-url", TestDatabase.current.url],
            environment: ["NOTIFY_SOCKET": address, "WATCHDOG_USEC": "500000"]
        )
        var said: [String] = []
        while said.filter({ $0 == "WATCHDOG=1" }).count < 3 || !said.contains("READY=1\nSTATUS=listening") {
            let message = try await onThread { socket.receive(seconds: 30) }
            try #require(!message.isEmpty, "\(said)")
            said.append(message)
        }
        daemon.signal(SIGTERM)
        // Keeps reading: the kernel queues ten datagrams, and pings would fill the queue.
        while said.last?.hasPrefix("STOPPING=1") != true {
            let message = try await onThread { socket.receive(seconds: 30) }
            try #require(!message.isEmpty, "\(said)")
            said.append(message)
        }
        #expect(await daemon.exitStatus() == 0)
    }
}
