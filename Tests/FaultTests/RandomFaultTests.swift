import Foundation
import Programs
import TestKit
import Testing

/// Tests with random faults, one after the other without a pause.
@Suite(.rig, .serialized, .timeLimit(.minutes(Soak.choose(5, soak: 30 + 2 * Soak.minutes))))
struct RandomFaultTests {
    @Test func anyNumberOfFaultsInARow() async throws {
        let rig = try Rig.current
        try await rig.sandbox.setFaults(Harm.slow)
        var run = try await RandomRun(rig)
        try await rig.pushes(moreThan: 200)
        while !run.isOver { try await run.step() }
        try await run.finish()
    }
}

/// A run of random faults: the pushes, the faults and the measurements.
private struct RandomRun {
    private static let fault = "random faults in a row"
    private static let length = Duration.seconds(Soak.choose(15, soak: Soak.minutes * 60))
    /// The interval between two progress reports.
    private static let interval = length / 12

    private let rig: Rig
    private let once: Traffic
    private let least: Traffic
    private let start = ContinuousClock.now
    private var toll = Toll()
    private var said = 0
    /// The first daemon's memory and descriptors by interval; it lives through the whole run.
    private var vitals: [Vitals] = []
    private var samples: [Vitals] = []

    init(_ rig: Rig) async throws {
        self.rig = rig
        let devices = Soak.choose(20, soak: 40)
        let perSecond = Soak.choose(10, soak: 12)
        least = rig.traffic(to: try await rig.audience("random", devices: devices), perSecond: perSecond)
        once = rig.traffic(
            to: try await rig.audience("random-once", devices: devices, #""delivery": "at_most_once""#),
            perSecond: perSecond
        )
    }

    /// Whether the run is long enough; a slow machine gets half as much time again.
    var isOver: Bool {
        let elapsed = ContinuousClock.now - start
        guard elapsed >= Self.length else { return false }
        return !Soak.isOn || hasEnough || elapsed >= Self.length * 1.5
    }

    /// The number of deliveries and faults expected of an hour, in proportion to the run's length.
    private var hasEnough: Bool {
        let deliveries = least.count * least.audience.devices + once.count * once.audience.devices
        return deliveries >= 2_000_000 * Soak.minutes / 60 && toll.counts[.kill, default: 0] >= 200 * Soak.minutes / 60
            && toll.counts[.restart, default: 0] >= 50 * Soak.minutes / 60
    }

    /// Plays one fault, and lets the daemons work on.
    mutating func step() async throws {
        try await toll.play(.any(rig), on: rig)
        try await rig.serve(3, seconds: Soak.choose(30, soak: 120))
        let pushes = Soak.choose(rig.random(50...400), soak: rig.random(400...3000))
        try await rig.pushes(moreThan: pushes, seconds: Soak.choose(60, soak: 300))
        if let survivor = rig.daemons.first(where: { $0.index == 0 }) {
            samples.append(try Vitals(of: survivor.process.processID))
        }
        if ContinuousClock.now - start >= Self.interval * (said + 1) { try await sayHowItGoes() }
    }

    private mutating func sayHowItGoes() async throws {
        let elapsed = (ContinuousClock.now - start).components.seconds
        while Self.interval * (said + 1) <= ContinuousClock.now - start { said += 1 }
        guard let now = Vitals.median(of: samples) else { return }
        samples = []
        vitals.append(now)
        var (least, once) = (
            DeliveryAudit(devices: least.audience.devices), DeliveryAudit(devices: once.audience.devices)
        )
        try await rig.readLedger(of: self.least.audience, into: &least)
        try await rig.readLedger(of: self.once.audience, into: &once)
        let checker = try Vitals(of: ProcessInfo.processInfo.processIdentifier)
        report(
            "fault: \(Self.fault), after \(elapsed) s: sent \(least.sent) + \(once.sent) at most once, "
                + "repeated \(least.duplicates) + \(once.duplicates), \(toll.description); "
                + "the first daemon has \(now.description), the checker \(checker.description)"
        )
    }

    /// Waits until everything is sent, and audits the deliveries.
    mutating func finish() async throws {
        if vitals.isEmpty || !samples.isEmpty { try await sayHowItGoes() }
        try await rig.sandbox.setFaults("[]")
        await once.stop()
        await least.stop()
        let patience = Soak.choose(120, soak: 900)
        let audits = [
            try await rig.audit(least.audience, events: rig.settle(least, seconds: patience)),
            try await rig.audit(once.audience, events: rig.settle(once, seconds: patience)),
        ]
        let memory = vitals.first.flatMap { first in
            vitals.last.map { "the first daemon had \(first.description) at first, \($0.description) at last" }
        }
        audits[0].report(Self.fault, "\(toll.description), \(memory ?? "")")
        audits[1].report(Self.fault + ", at most once", "unknown \(audits[1].count("unknown"))")
        judge(audits[0], audits[1])
    }

    private func judge(_ least: DeliveryAudit, _ once: DeliveryAudit) {
        let byKill = toll.repeatsByKill(in: least.repeats + once.repeats)
        if !byKill.isEmpty {
            report(
                "fault: kill -9 among them, \(byKill.count) times: repeated \(byKill.reduce(0, +) / byKill.count) "
                    + "each, at most \(byKill.max() ?? 0), W \(Rig.unrecorded)"
            )
        }
        least.expectNothingLost(Self.fault)
        once.expectNothingLost(Self.fault)
        #expect(once.duplicates == 0, "at most once")
        #expect(least.duplicates <= toll.allowed)
        #expect(least.count("accepted") == least.expected)
        #expect(byKill.allSatisfy { $0 <= Rig.unrecorded }, "no kill repeats more than W")
        #expect(!Soak.isOn || hasEnough, "faults and deliveries were as many as an hour is to show")
        guard let first = vitals.first, let last = vitals.last else { return }
        #expect(last.descriptors <= first.descriptors + 10)
        #expect(last.megabytes <= first.megabytes * 1.25 + 4)
    }
}

extension Soak {
    /// The length of a long run of random faults in minutes: `FANFARE_FAULT_MINUTES`, or 60.
    static var minutes: Int {
        ProcessInfo.processInfo.environment["FANFARE_FAULT_MINUTES"].flatMap { Int($0) } ?? 60
    }
}
