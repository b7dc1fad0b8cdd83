import FanfareCore
import Foundation
import PostgresClient
import TestKit
import Testing
import Threading

@testable import DaemonKit
@testable import FanfareConfiguration
@testable import FanfareProviders
@testable import FanfareTools

/// Changes of FCM's own topics that are killed or stopped, and their pace.
@Suite(.flowSandbox, .database, .serialized, .timeLimit(.minutes(5)))
struct TopicContinuationTests {
    private let world: TopicWorld

    init() throws {
        world = try TopicWorld()
    }

    // MARK: Interruptions

    /// A kill, as far as FCM and the database see one: the job ends with requests in flight, and stores nothing more.
    @Test func aKilledJobContinuesAndRepeatsOneStep() async throws {
        try await world.devices(2000, named: "kill")
        try await world.flow.sandbox.setFaults(
            #"""
            [{"provider": "fcm_topics", "match": {"token": "-1.0$"}, "do": "status", "reason": "RESOURCE_EXHAUSTED", "times": 1},
             {"provider": "fcm_topics", "match": {"token": "-1.1$"}, "do": "status", "reason": "UNAVAILABLE", "times": 1},
             {"provider": "fcm_topics", "match": {"token": "-77$"}, "do": "status", "reason": "UNREGISTERED"}]
            """#
        )
        var change = try world.change(.subscribe)
        change.devicesAtOnce = 100
        let mark = try await world.mark()
        let continued = Locked<[Int64]>([])
        // One kill a step, at different places in it.
        for kill in 1...19 {
            let end = Int64(kill * 100 + 7 * kill % 100)
            let error = await #expect(throws: ToolError.self) {
                try await world.apply(change) { news throws(ToolError) in
                    switch news {
                    case .continued(let devices): continued.withLock { $0.append(devices) }
                    case .progress(let devices, _) where devices >= end: throw ToolError(.failed, "killed")
                    default: break
                    }
                }
            }
            #expect(error?.reason == "killed")
        }
        let report = try await world.apply(change)
        #expect(report.tally.done == 1999 && report.tally.gone == 1 && report.tally.isComplete)
        #expect(continued.withLock { $0 } == (1...18).map { $0 * 100 })
        let requests = try await world.requests(after: mark)
        let perTarget = Dictionary(grouping: requests, by: \.target)
        #expect(perTarget.count == 2000)
        for (target, requests) in perTarget {
            #expect(requests.contains { [200, 409].contains($0.status) } || target == "kill-77")
            let served = requests.filter { $0.status != 429 && $0.status != 503 }
            #expect(served.count <= 2, "\(target): \(requests.map(\.status))")
        }
    }

    @Test func aStoppedJobStoresWhatItDid() async throws {
        try await world.devices(500, named: "end")
        // The job waits for the quota in the middle of its third step.
        try await world.flow.sandbox.setFaults(
            #"[{"provider": "fcm_topics", "match": {"token": "-250$"}, "do": "status", "status": 429, "retry_after": 3600}]"#
        )
        var change = try world.change(.subscribe)
        (change.devicesAtOnce, change.pace.longestHold) = (100, Micros.hour)
        let stop = TopicStop()
        let report = try await world.apply(change, stop: stop) { news throws(ToolError) in
            if case .held(let seconds) = news {
                #expect(seconds >= 3599)
                #expect(stop.request(by: 15) && !stop.request(by: 2))
            }
        }
        #expect(report.isStopped && stop.signal == 15)
        #expect(report.tally.done == 249 && report.tally.devices == 249)
        #expect(try world.stored() == ["subscribe stores 249"])
        try await world.flow.sandbox.setFaults("[]")

        let news = Locked<[Int64]>([])
        let rest = try await world.apply(change) { item throws(ToolError) in
            if case .continued(let devices) = item { news.withLock { $0.append(devices) } }
            if case .counted(let left) = item { news.withLock { $0.append(left) } }
        }
        #expect(rest.tally.done == 500 && !rest.isStopped)
        #expect(news.withLock { $0 } == [249, 251])
        #expect(try world.stored() == ["subscribe stores 500 finished"])
        // A finished change begins anew, and so does one that is told to.
        let mark = try await world.mark()
        #expect(try await world.apply(change).tally.done == 500)
        #expect(try await world.requests(after: mark).count { $0.status == 409 } == 500)
    }

    @Test func aChangeCanBeginAnew() async throws {
        try await world.devices(30, named: "anew")
        var change = try world.change(.subscribe)
        change.devicesAtOnce = 10
        await #expect(throws: ToolError.self) {
            try await world.apply(change) { news throws(ToolError) in
                if case .progress(let devices, _) = news, devices > 20 { throw ToolError(.failed, "killed") }
            }
        }
        #expect(try world.stored() == ["subscribe stores 20"])
        // Another selection has progress of its own.
        var filter = FCMDeviceFilter(app: "shop")
        filter.users = ["u0"]
        let other = try TopicChange(.subscribe, topic: "stores", of: filter)
        #expect(try await world.apply(other).tally.done == 15)
        change.restarts = true
        #expect(try await world.apply(change).tally.done == 30)
        #expect(
            try world.stored().sorted { ($0 ?? "") < ($1 ?? "") } == [
                "subscribe stores 30 finished", "subscribe stores 30 finished",
            ]
        )
    }

    // MARK: Pace

    /// The rate is kept from the first request to the last, and several streams are in flight.
    @Test func requestsAreSpacedByTheRate() async throws {
        try await world.devices(600, named: "pace")
        try await world.flow.sandbox.setFaults(#"[{"provider": "fcm_topics", "do": "slow", "ms": 100}]"#)
        var change = try world.change(.subscribe)
        change.rate = 600
        let mark = try await world.mark()
        #expect(try await world.apply(change).tally.done == 600)
        try await world.flow.sandbox.setFaults("[]")
        let times = try await world.requests(after: mark).map(\.nanoseconds).sorted()
        let seconds = Double(times[599] - times[0]) / 1e9
        // A twentieth may go at once; the rest leaves room for a sandbox that is late with the first ones.
        #expect(seconds >= 0.5, "the rest takes 0.95 s at this rate")
        // One after another would take a minute.
        #expect(seconds < 30)
    }
}
