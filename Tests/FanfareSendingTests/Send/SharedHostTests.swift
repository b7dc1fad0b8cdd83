import FanfareCore
import PostgresClient
import PushTransport
import TestKit
import Testing
import Threading

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// An endpoint that does not answer delays only itself, although it shares its host with others.
@Suite(.database)
struct SharedHostTests {
    private let world: World
    private let transport = HostTransport()
    private let breakers = Breakers()
    private var state: SenderState

    init() throws {
        world = try World()
        for path in ["slow", "ann"] {
            let secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
            let url = "https://hooks.example.com/\(path)"
            _ = try world.device(url, user: path, provider: "webhook", "auth => '\(secret)'")
        }
        world.catalog.targets.replace(try world.connection.run(SQL.allTargets()))
        let target = try #require(world.catalog.targets.all.values.first)
        let pool = ProviderPool(environment: target.environment, access: WebhookAccess(), hasManyOrigins: true) {
            throw Unused()
        }
        state = SenderState(
            shared: SenderShared(
                settings: PoolSettings(target: target, pool: pool, threads: 1),
                breakers: breakers,
                retries: Locked(RetryBudget())
            ),
            links: world.links(Mailbox<RecorderMessage>()),
            transport: transport,
            writer: try WebhookAccess().makeWriter()
        )
        world.context.lease.begin(owner: 1, startedAt: Clocks.steady, databaseNow: Clocks.wall)
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
    }

    private struct Unused: Error {}

    private mutating func turn() {
        world.context.lease.cancelsRead(startedAt: Clocks.steady)
        state.turn()
    }

    /// Emits to a user, and passes the prepared batches to the state.
    private mutating func emit(_ count: Int, to user: String) throws {
        for _ in 0..<count { try world.emit("e", #"{"u": "\#(user)"}"#) }
        try world.plan()
        state.accept(try world.prepare(try world.claim()).map(\.batch))
    }

    @Test mutating func whatIsSlowLeavesRoomForOthersAtItsHost() throws {
        try emit(30, to: "slow")
        try emit(1, to: "ann")
        turn()
        #expect(transport.inFlight(to: "slow") == HostTransport.slots / 2)
        #expect(transport.inFlight(to: "ann") == 1)
    }

    @Test mutating func whatFailsIsProbedAndOthersGoOn() throws {
        try emit(40, to: "slow")
        for _ in 0..<20 where breakers.heldDevices.ids.isEmpty {
            turn()
            transport.answer("slow", with: nil)
            turn()
        }
        #expect(breakers.heldDevices.ids.count == 1, "the address waits")
        #expect(!breakers.standing.isAnyOpen, "its host does not")
        let before = transport.inFlight(to: "slow")
        turn()
        #expect(transport.inFlight(to: "slow") == before, "nothing more goes there")
        try emit(20, to: "ann")
        turn()
        #expect(transport.inFlight(to: "ann") > 0)
        for _ in 0..<20 where transport.answered["ann", default: 0] < 20 {
            transport.answer("ann", with: 200)
            turn()
        }
        #expect(transport.answered["ann"] == 20)
    }
}

/// A transport to one host with scripted answers.
private final class HostTransport: PushTransport {
    static let slots = 8

    private struct Silent: TransportWaker {
        func wake() {}
    }

    private var waiting: [PushRequest] = []
    private var ready: [PushAnswer] = []
    private(set) var answered: [String: Int] = [:]
    var sendUntil = ContinuousClock.now
    let isGrowing = false
    let waker: any TransportWaker = Silent()
    let state = TransportState()

    var inFlight: Int { waiting.count + ready.count }
    var freeSlots: Int { Self.slots - inFlight }

    func freeSlots(for origin: Endpoint) -> Int { freeSlots }

    func inFlight(to path: String) -> Int { waiting.count { $0.path == Array("/\(path)".utf8) } }

    /// Answers the requests in flight with a status, or loses the answers.
    func answer(_ path: String, with status: UInt16?) {
        let answered = waiting.filter { $0.path == Array("/\(path)".utf8) }
        waiting.removeAll { $0.path == Array("/\(path)".utf8) }
        self.answered[path, default: 0] += answered.count
        ready += answered.map { request in
            guard let status else {
                return PushAnswer(tag: request.tag, without: .ambiguous, cause: .deadline, detail: "scripted")
            }
            return PushAnswer(tag: request.tag, status: status)
        }
    }

    func submit(_ requests: ArraySlice<PushRequest>) -> Int {
        waiting += requests
        return requests.count
    }

    func poll(timeout: Duration, into answers: inout [PushAnswer]) {
        answers += ready
        ready = []
    }

    func retire(_ connection: UInt64) {}

    func close(into answers: inout [PushAnswer]) {}
}
