import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// A random history of statements, run on the model of the rows and on PostgreSQL.
final class History {
    private static let batchSize = 3
    private static let roundSize = 2
    static let hour = 3600 * Micros.second

    var chance: Chance
    var rows = Rows()
    let real: RealRows
    private var modelFloor = OutboxFloor()
    private var realFloor = OutboxFloor()
    var events: [Int64] = []
    /// The open transaction of the writer, if any.
    private var openXID: UInt64?
    /// The token of the last claim.
    var token: Int64 = 0
    /// The ids of the queue's batches in both, by their names.
    private(set) var ids: [String: (model: Int64, real: Int64)] = [:]

    init(seed: UInt64, database: TestDatabase) throws {
        chance = Chance(seed: seed)
        rows.now = Server.epoch
        for id in Int64(1)...10 {
            rows.devices[id] = Rows.Device(
                id: id,
                user: "user-\(id % 4)",
                token: "\(id + 10)aa",
                target: id == 2 ? 2 : 1,
                registeredAt: rows.now,
                zone: [nil, SimulatedZone.asleep, SimulatedZone.awake][Int(id % 3)]
            )
        }
        let devices = rows.devices.values.sorted { $0.id < $1.id }
        real = try RealRows(database, devices: devices, batchSize: Self.batchSize)
        beginSuppression()
    }

    /// Runs a history, and compares both after each step.
    func run(steps: Int) throws {
        for step in 1...steps {
            rows.now += Micros.millisecond
            let name = try takeStep()
            let (model, real) = (rows.summary(events), try real.summary())
            try #require(model == real, "after step \(step), \(name)")
        }
    }

    private func takeStep() throws -> String {
        try findBatches()
        switch chance.number(0...19) {
        case 0, 1: try emit()
        case 2: try commit()
        case 3: try cancel()
        case 4, 5: try plan()
        case 6: try slice()
        case 7, 8: try claim()
        case 9: try checkpoint()
        case 10, 11: try close()
        case 12: try release()
        case 13: try register()
        case 14: try releaseClaims()
        case 15: try claimGated()
        case 16: try changeGate()
        case 17: try checkSuppression()
        case 18: try takeCaps()
        default: try control()
        }
        return lastName
    }

    /// The name of the last step.
    var lastName = ""

    private func findBatches() throws {
        let real = try real.batchIDs()
        ids = [:]
        for batch in rows.batches.values {
            let event = events.firstIndex(of: batch.eventID(at: 0)) ?? -1
            let name = "#\(event)/\(batch.ruleVersion)/\(batch.deviceIDs[0])"
            if let id = real[name] { ids[name] = (batch.id, id) }
        }
    }

    // MARK: Applications

    private func emit() throws {
        lastName = "emit"
        guard openXID == nil else { return }
        let type = ["one", "all", "once", "note", "nobody"][chance.number(0...4)]
        let users = (0..<chance.number(1...2)).map { _ in "user-\(chance.number(0...3))" }
        let key = chance.happens(0.3) ? "key-\(chance.number(1...2))" : nil
        let staysOpen = chance.happens(0.3)
        let xid = rows.begin()
        events.append(rows.emit(type, users: users, key: key, in: xid))
        if staysOpen { openXID = xid } else { rows.commit(xid) }
        try real.emit(type, users: users, key: key, staysOpen: staysOpen)
    }

    private func commit() throws {
        lastName = "commit"
        guard let xid = openXID else { return }
        openXID = nil
        rows.commit(xid)
        try real.commit()
    }

    private func cancel() throws {
        lastName = "cancel"
        guard !events.isEmpty else { return }
        let index = chance.number(0...events.count - 1)
        let xid = rows.begin()
        rows.cancel(event: events[index], in: xid)
        rows.commit(xid)
        try real.cancel(real.events[index])
    }

    private func register() throws {
        lastName = "register"
        let id = Int64(chance.number(1...rows.devices.count))
        rows.register(id)
        if let device = rows.devices[id] { try real.register(device) }
    }

    // MARK: Planning

    private func plan() throws {
        lastName = "plan"
        let size = Self.batchSize
        let mine = rows.plan(PlanRound(floor: modelFloor, limit: Self.roundSize, batchSize: size))
        let theirs = try real.plan(PlanRound(floor: realFloor, limit: Self.roundSize, batchSize: size))
        #expect(mine.taken == theirs.taken)
        #expect(mine.fates == theirs.fates)
        modelFloor.advance(after: mine, limit: Self.roundSize)
        realFloor.advance(after: theirs, limit: Self.roundSize)
        if chance.happens(0.1) { (modelFloor, realFloor) = (OutboxFloor(), OutboxFloor()) }
    }

    private func slice() throws {
        lastName = "slice"
        let mine = rows.slice(rows: SliceStatements.rows, batchSize: Self.batchSize)
        #expect(try mine == real.slice(batchSize: Self.batchSize))
    }

    // MARK: Claiming

    /// Returns claims for all due batches behind a gate, of one target or both.
    func requests(behind gate: Int32) -> [BatchRequest] {
        let targets = chance.happens(0.5) ? [Int16(1), 2] : [Int16(chance.number(1...2))]
        return targets.flatMap { target in
            SendQueue.allCases.map {
                BatchRequest(gate: gate, target: target, queue: $0, count: 1000, floor: .minusInfinity)
            }
        }
    }

    private func claim() throws {
        lastName = "claim"
        token += 1
        let requests = requests(behind: 0)
        let statement = ClaimBatches(requests: requests, owner: Int32(chance.number(1...3)), leaseToken: token)
        let (mine, theirs) = (rows.apply(statement), try real.connection.run(statement))
        #expect(mine.map(\.deviceIDs).sorted(by: <) == theirs.map(\.deviceIDs).sorted(by: <))
        #expect(Set(mine.map(\.outcomes)) == Set(theirs.map(\.outcomes)))
    }

    // MARK: Control

    private func control() throws {
        let owner = Int32(chance.number(1...3))
        switch chance.number(0...3) {
        case 0:
            lastName = "enter"
            guard rows.lastInstance < 3 else { return }
            let statement = EnterInstance(
                daemon: "d",
                host: "h",
                pid: 1,
                version: "v",
                leaseMicroseconds: LeaseGuard.length,
                schemaVersion: Schema.versions.upperBound
            )
            #expect(try rows.apply(statement) == real.connection.run(statement).first?.id)
        case 1:
            lastName = "renew"
            let statement = RenewLease(owner: owner, leaseMicroseconds: Self.hour, leads: [], report: "{}")
            #expect(try (rows.apply(statement) == nil) == real.connection.run(statement).isEmpty)
        case 2:
            lastName = "rescue"
            let statement = Rescue(dead: owner, unlessRenewed: chance.happens(0.5) ? Timestamp(microseconds: 1) : nil)
            #expect(try rows.apply(statement) == real.connection.run(statement).first)
        default:
            lastName = "others"
            let statement = OtherInstances(owner: owner)
            let theirs = try real.connection.run(statement).map(\.id).sorted()
            #expect(rows.apply(statement).map(\.id).sorted() == theirs)
        }
    }
}

/// Orders lists of devices lexicographically.
private func < (left: [Int64], right: [Int64]) -> Bool { left.lexicographicallyPrecedes(right) }
