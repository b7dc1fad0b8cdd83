/// Divides W, the cap on requests in flight or answered but not recorded (`send.unrecorded`), among (app, provider)s and lanes.
///
/// * The slots held never exceed W.
/// * While another key has work, no key takes more than half of W. What it took before, it keeps until it is recorded.
/// * Normal and bulk together take at most 3/4, of W and of each key's limit: the rest is kept for the transactional lane.
/// * While a key has bulk work, its share of 5 % is kept free of the other lanes.
/// * The last 1/16 of W is only for keys below an even share, one more key than there are assumed: so whoever comes new to
///   a W that silent providers fill can begin at once.
///
/// A plain value: the caller serialises access to it, and decides who asks first.
public struct UnrecordedBudget<Key: Hashable & Sendable>: Sendable {
    private struct Holder: Sendable {
        var held = LaneCounts()
        var work: Set<Lane> = []

        var isIdle: Bool { work.isEmpty && held.total == 0 }
    }

    /// W.
    public let capacity: Int
    private var holders: [Key: Holder] = [:]
    private var used = LaneCounts()

    /// A budget of which nothing is held.
    ///
    /// - Parameter capacity: W; less than 1 acts as 1. The shares of lanes need about 20.
    public init(capacity: Int = 4096) {
        self.capacity = max(capacity, 1)
    }

    /// Slots held by all.
    public var held: Int { used.total }

    /// Slots held by one key.
    ///
    /// - Parameter key: whose.
    /// - Returns: in all lanes together.
    public func held(by key: Key) -> Int { holders[key]?.held.total ?? 0 }

    /// The most a key may hold as things are: W, or half of it while another has work.
    ///
    /// - Parameter key: whose.
    /// - Returns: the share whose quarter makes a checkpoint due.
    public func share(of key: Key) -> Int {
        let isAlone = !holders.contains { $0.key != key && !$0.value.work.isEmpty }
        return isAlone ? capacity : max(capacity / 2, 1)
    }

    /// Says whether a key has work in a lane, that is, deliveries it would send if it had slots.
    ///
    /// Asking for slots says so too; only this takes it back. A key that is not told to be without work keeps others from
    /// its half.
    ///
    /// - Parameters:
    ///   - hasWork: whether it has.
    ///   - key: who.
    ///   - lane: in which lane.
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
    ///   - wanted: how many could be used now.
    ///   - key: who.
    ///   - lane: for which lane.
    /// - Returns: how many were taken, 0 to `wanted`.
    public mutating func acquire(_ wanted: Int, for key: Key, lane: Lane) -> Int {
        setWork(true, for: key, lane: lane)
        let room = min(roomOfKey(key, lane: lane), roomOverall(key, lane: lane))
        let granted = min(max(wanted, 0), room)
        holders[key]?.held[lane] += granted
        used[lane] += granted
        return granted
    }

    /// Gives slots back: their outcomes are recorded, or they were not used.
    ///
    /// Giving back more than is held is a programmer's error and traps.
    ///
    /// - Parameters:
    ///   - count: how many.
    ///   - key: who took them.
    ///   - lane: for which lane.
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

    /// What a key with bulk work does not hold yet of its reserve.
    private func unfilled(_ holder: Holder, reserve: Int) -> Int {
        holder.work.contains(.bulk) ? max(reserve - holder.held.bulk, 0) : 0
    }

    /// 5 %, rounded up; nothing where that would leave the other lanes without a slot.
    private func bulkReserve(of limit: Int) -> Int {
        limit < 8 ? 0 : (limit + 19) / 20
    }
}
