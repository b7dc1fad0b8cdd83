import FanfareCore
import PostgresClient

@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// The model of the control session's statements.
extension Rows {
    mutating func apply(_ statement: EnterInstance) -> Int32 {
        lastInstance += 1
        instances[lastInstance] = now + statement.leaseMicroseconds
        return lastInstance
    }

    /// - Returns: the server's time; nil if another daemon declared this one dead.
    mutating func apply(_ statement: RenewLease) -> Timestamp? {
        guard instances[statement.owner] != nil else { return nil }
        instances[statement.owner] = now + statement.leaseMicroseconds
        return Timestamp(microseconds: now)
    }

    func apply(_ statement: OtherInstances) -> [OtherInstance] {
        let listed = instances.filter { $0.key != statement.owner }.sorted { $0.key < $1.key }
            .map { OtherInstance(id: $0.key, leaseUntil: Timestamp(microseconds: $0.value)) }
        let owners = Set(batches.values.compactMap(\.owner)).subtracting(instances.keys).subtracting([statement.owner])
        return listed + owners.sorted().map { OtherInstance(id: $0, leaseUntil: nil) }
    }

    /// - Returns: the number of freed batches; nil if the daemon was not dead.
    @discardableResult
    mutating func apply(_ statement: Rescue) -> Int64? {
        if let lease = statement.lease, let end = instances[statement.dead], end != lease.microseconds { return nil }
        instances[statement.dead] = nil
        let freed = batches.values.filter { $0.owner == statement.dead }.map(\.id)
        for id in freed {
            batches[id]?.owner = nil
            batches[id]?.leaseToken = nil
            batches[id]?.notBefore = now
        }
        return Int64(freed.count)
    }

    func apply(_ statement: NewCancels) -> (seen: String, facts: [CancelFact]) {
        guard let since = statement.since.flatMap({ OutboxSnapshot($0) }), let next = UInt64(since.next) else {
            return (snapshot, [])
        }
        let facts = cancels.filter { cancel in
            !open.contains(cancel.xid) && (cancel.xid >= next || since.open.contains("\(cancel.xid)"))
        }
        return (snapshot, facts.map(\.fact))
    }
}
