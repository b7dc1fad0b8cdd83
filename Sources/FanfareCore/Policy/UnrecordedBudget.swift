/// Divides the in-flight budget (`send.unrecorded`) among keys (app and provider) and lanes.
///
/// The budget is the limit of requests in flight, or answered and not yet recorded.
///
/// * The slots held never exceed the budget.
/// * While another key has work, no key takes more than half of the budget. Slots taken before are kept until recorded.
/// * Normal and bulk lanes together take at most 3/4 of the budget, and of each key's limit: the rest is for the
///   transactional lane.
/// * While a key has bulk work, its share of 5 % is kept free of the other lanes.
/// * The last 1/16 of the budget is only for keys below an even share, which is computed for one key more than there
///   are: a new key can start at once although providers that do not answer fill the budget.
///
/// A plain value: the caller serialises access, and decides the order of requests.
public struct UnrecordedBudget<Key: Hashable & Sendable>: Sendable {
    private struct Holder: Sendable {
        var held = LaneCounts()
        var work: Set<Lane> = []

        var isIdle: Bool { work.isEmpty && held.total == 0 }
    }

    /// The in-flight budget.
    public let capacity: Int
    private var holders: [Key: Holder] = [:]
    private var used = LaneCounts()

    /// Makes a budget without held slots.
    ///
    /// - Parameter capacity: the in-flight budget; less than 1 acts as 1. The shares of lanes need about 20.
    public init(capacity: Int = 4096) {
        self.capacity = max(capacity, 1)
    }

    /// The slots held by all keys.
    public var held: Int { used.total }

    /// Returns the slots held by one key.
    ///
    /// - Parameter key: the key.
    /// - Returns: the slots in all lanes together.
    public func held(by key: Key) -> Int { holders[key]?.held.total ?? 0 }

    /// Returns the limit of a key at present: the budget, or half of it while another key has work.
    ///
    /// - Parameter key: the key.
    /// - Returns: the share; a checkpoint is due when half of it is answered.
    public func share(of key: Key) -> Int {
        let isAlone = !holders.contains { $0.key != key && !$0.value.work.isEmpty }
        return isAlone ? capacity : max(capacity / 2, 1)
    }

    /// Records whether a key has work in a lane, that is, deliveries to send.
    ///
    /// ``acquire(_:for:lane:)`` records work too; only this function removes it. While a key counts as having work,
    /// other keys cannot use its half.
    ///
    /// - Parameters:
    ///   - hasWork: whether it has work.
    ///   - key: the key.
    ///   - lane: the lane.
    public mutating func setWork(_ hasWork: Bool, for key: Key, lane: Lane) {
        if hasWork {
            holders[key, default: Holder()].work.insert(lane)
        } else {
            holders[key]?.work.remove(lane)
            forgetIfIdle(key)
        }
    }

    /// Takes slots.
    ///
    /// - Parameters:
    ///   - wanted: the number of slots that could be used now.
    ///   - key: the key.
    ///   - lane: the lane.
    /// - Returns: the number of slots taken, 0 to `wanted`.
    public mutating func acquire(_ wanted: Int, for key: Key, lane: Lane) -> Int {
        setWork(true, for: key, lane: lane)
        let room = min(roomOfKey(key, lane: lane), roomOverall(key, lane: lane))
        let granted = min(max(wanted, 0), room)
        holders[key]?.held[lane] += granted
        used[lane] += granted
        return granted
    }

    /// Returns slots whose outcomes are recorded, or that were not used.
    ///
    /// Traps if more slots are returned than are held.
    ///
    /// - Parameters:
    ///   - count: the number of slots.
    ///   - key: the key that took them.
    ///   - lane: the lane.
    public mutating func release(_ count: Int, for key: Key, lane: Lane) {
        let held = holders[key]?.held[lane] ?? 0
        precondition(count >= 0 && count <= held, "released \(count) slots of \(held) held")
        holders[key]?.held[lane] -= count
        used[lane] -= count
        forgetIfIdle(key)
    }

    private mutating func forgetIfIdle(_ key: Key) {
        if holders[key]?.isIdle == true { holders[key] = nil }
    }
}

extension UnrecordedBudget {
    private func roomOfKey(_ key: Key, lane: Lane) -> Int {
        guard let holder = holders[key] else { return 0 }
        let limit = share(of: key)
        let kept = lane == .bulk ? 0 : unfilled(holder, reserve: bulkReserve(of: limit))
        return holder.held.room(for: lane, limit: limit, keptForBulk: kept)
    }

    private func roomOverall(_ key: Key, lane: Lane) -> Int {
        let bulkKeys = holders.values.count { $0.work.contains(.bulk) }
        let reserve = bulkKeys == 0 ? 0 : bulkReserve(of: capacity) / bulkKeys
        let kept = holders.reduce(0) { sum, entry in
            entry.key == key && lane == .bulk ? sum : sum + unfilled(entry.value, reserve: reserve)
        }
        let beyondShare = used.room(for: lane, limit: capacity - capacity / 16, keptForBulk: kept)
        let evenShare = capacity / (holders.count + 1)
        let withinShare = min(used.room(for: lane, limit: capacity, keptForBulk: kept), evenShare - held(by: key))
        return max(beyondShare, withinShare)
    }

    /// Returns the part of its reserve that a key with bulk work does not hold yet.
    private func unfilled(_ holder: Holder, reserve: Int) -> Int {
        holder.work.contains(.bulk) ? max(reserve - holder.held.bulk, 0) : 0
    }

    /// Returns 5 %, rounded up; 0 if that would leave the other lanes without a slot.
    private func bulkReserve(of limit: Int) -> Int {
        limit < 8 ? 0 : (limit + 19) / 20
    }
}
