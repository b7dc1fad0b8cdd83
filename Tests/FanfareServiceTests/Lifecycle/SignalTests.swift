import Glibc
import Logging
import ServiceLifecycle
import Testing
import Threading
import UnixSignals

@testable import FanfareDaemon
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareTools

@Suite struct SignalStateMachineTests {
    @Test func termDrainsAndASecondOneStops() {
        var machine = SignalStateMachine()
        #expect(machine.received(.sigterm) == .drain)
        #expect(machine.received(.sighup) == nil)
        #expect(machine.received(.sigterm) == .stopAtOnce)
        #expect(machine.received(.sigterm) == nil)
        #expect(machine.received(.sigint) == nil)
    }

    @Test func intStopsAtOnceAlsoWhileDraining() {
        var machine = SignalStateMachine()
        #expect(machine.received(.sigint) == .stopAtOnce)
        var draining = SignalStateMachine()
        #expect(draining.received(.sigterm) == .drain)
        #expect(draining.received(.sigint) == .stopAtOnce)
    }

    @Test func hupsDuringAReloadLeadToOneMore() {
        var machine = SignalStateMachine()
        #expect(machine.received(.sighup) == .reload)
        #expect(machine.received(.sighup) == nil)
        #expect(machine.received(.sighup) == nil)
        #expect(machine.reloadFinished() == .reload)
        #expect(machine.reloadFinished() == nil)
        #expect(machine.received(.sighup) == .reload)
        #expect(machine.received(.sighup) == nil)
        #expect(machine.received(.sigterm) == .drain)
        #expect(machine.reloadFinished() == nil)
        #expect(machine.received(.sigusr1) == nil)
    }
}

/// A service that runs until it is drained or cancelled, and records which.
private struct Worker: Service {
    let started: AsyncStream<Void>.Continuation
    let endings: Locked<[String]>
    var drains = true

    func run() async throws {
        started.yield()
        if drains {
            try? await gracefulShutdown()
            endings.withLock { $0.append(Task.isCancelled ? "cancelled" : "drained") }
        } else {
            // Never drains: only cancellation ends it.
            let (never, _) = AsyncStream<Void>.makeStream()
            for await _ in never {}
            endings.withLock { $0.append("cancelled") }
            throw CancellationError()
        }
    }
}

/// A service that fails on demand.
private struct Failing: Service {
    struct Failure: Error {}
    func run() async throws { throw Failure() }
}

@Suite(.timeLimit(.minutes(5))) struct ServiceGroupSignalTests {
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    private let messages = Locked<[String]>([])

    private func notifier() -> SystemdNotifier {
        let messages = messages
        return SystemdNotifier(
            send: { text in messages.withLock { $0.append(text) } },
            watchdogInterval: nil,
            logger: logger,
            monotonicMicroseconds: { 5 }
        )
    }

    private func group(_ service: any Service) -> ServiceGroup {
        ServiceGroup(configuration: .init(services: [.init(service: service)], logger: logger))
    }

    @Test func termDrainsTheServices() async throws {
        let (started, starting) = AsyncStream<Void>.makeStream()
        let (signals, send) = AsyncStream<UnixSignal>.makeStream()
        let endings = Locked<[String]>([])
        let group = group(Worker(started: starting, endings: endings))
        async let ending = group.run(signals: signals, notifier: notifier(), logger: logger) {}
        for await _ in started { break }
        send.yield(.sigterm)
        #expect(try await ending == .finished)
        #expect(endings.withLock { $0 } == ["drained"])
        #expect(messages.withLock { $0 } == ["STOPPING=1\nSTATUS=draining"])
    }

    @Test(arguments: [[UnixSignal.sigint], [.sigterm, .sigterm], [.sigterm, .sigint]])
    func stoppingAtOnceCancelsServicesThatDoNotDrain(sent: [UnixSignal]) async throws {
        let (started, starting) = AsyncStream<Void>.makeStream()
        let (signals, send) = AsyncStream<UnixSignal>.makeStream()
        let endings = Locked<[String]>([])
        let group = group(Worker(started: starting, endings: endings, drains: false))
        async let ending = group.run(signals: signals, notifier: notifier(), logger: logger) {}
        for await _ in started { break }
        for signal in sent { send.yield(signal) }
        #expect(try await ending == .stoppedAtOnce)
        #expect(endings.withLock { $0 } == ["cancelled"])
    }

    @Test func hupReloadsWithoutStoppingAndTheNotifierIsTold() async throws {
        let (started, starting) = AsyncStream<Void>.makeStream()
        let (signals, send) = AsyncStream<UnixSignal>.makeStream()
        let (reloads, reloaded) = AsyncStream<Void>.makeStream()
        let endings = Locked<[String]>([])
        let group = group(Worker(started: starting, endings: endings))
        async let ending = group.run(signals: signals, notifier: notifier(), logger: logger) { reloaded.yield() }
        for await _ in started { break }
        send.yield(.sighup)
        for await _ in reloads { break }
        send.yield(.sigterm)
        #expect(try await ending == .finished)
        let told = messages.withLock { $0 }
        #expect(told.first == "RELOADING=1\nMONOTONIC_USEC=5")
        #expect(told.contains("READY=1"))
        #expect(told.count == 3)
    }

    @Test func realSignalsOfTheProcessArrive() async throws {
        let signals = await UnixSignalsSequence(trapping: ServiceGroup.daemonSignals)
        let (started, starting) = AsyncStream<Void>.makeStream()
        let (reloads, reloaded) = AsyncStream<Void>.makeStream()
        let endings = Locked<[String]>([])
        let group = group(Worker(started: starting, endings: endings))
        async let ending = group.run(signals: signals, notifier: notifier(), logger: logger) { reloaded.yield() }
        for await _ in started { break }
        kill(getpid(), SIGHUP)
        for await _ in reloads { break }
        kill(getpid(), SIGTERM)
        #expect(try await ending == .finished)
        #expect(endings.withLock { $0 } == ["drained"])
    }

    @Test func aFailingServiceEndsTheRunWithItsError() async throws {
        let (signals, send) = AsyncStream<UnixSignal>.makeStream()
        let group = group(Failing())
        await #expect(throws: Failing.Failure.self) {
            try await group.run(signals: signals, notifier: notifier(), logger: logger) {}
        }
        send.finish()
    }
}
