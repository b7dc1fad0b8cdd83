internal import FanfareCore
internal import FanfareProviders
internal import FanfareStages
internal import FanfareStore

/// What a claimer can wish for: of its targets, what waits behind no gate and behind those that are open.
///
/// Behind a gate that has a rate it wishes for what waits there, and for nothing else.
struct WishList {
    let roster: SenderRoster
    /// Those that the roster serves.
    let targets: [Target]
    /// Those that are open.
    let gates: [Gate]

    /// Wishes for as much as there is room for at the senders.
    ///
    /// - Parameters:
    ///   - lanes: of which lanes.
    ///   - paced: the gate, if what waits behind one that has a rate is wished for.
    ///   - taken: what was claimed and not handed over yet; it has its room.
    ///   - held: what waits for room of another kind; no more of its queues is claimed.
    ///   - floors: from where to look.
    ///   - now: the time by the database.
    /// - Returns: one for each queue with room, and each gate that something may wait behind in it.
    func wishes(
        _ lanes: [Lane],
        behind paced: Gate? = nil,
        beside taken: [ClaimedBatch] = [],
        sparing held: HeldBatches,
        above floors: ClaimFloors,
        now: Microseconds
    ) -> [ClaimWish] {
        targets.flatMap { target in
            SendQueue.allCases.flatMap { queue -> [ClaimWish] in
                let all = lanes.contains(queue.lane) ? roster.room(target, queue) : 0
                let room = all - taken.count { $0.target == target.id && $0.queue == queue }
                guard room > 0, !held.contains(target.id, queue) else { return [] }
                return numbers(of: target, queue.lane, behind: paced).map { gate in
                    ClaimWish(
                        gate: gate,
                        target: target.id,
                        queue: queue,
                        // The room is its devices' too: one at a time, lest both take all of it.
                        count: target.nativeKey == nil ? Int32(room) : 1,
                        floor: floors.floor(gate: gate, target: target.id, queue, now: now)
                    )
                }
            }
        }
    }

    /// Where something may wait that has no rate, whether there is room for it or not.
    var places: [BatchPlace] { places(behind: nil) }

    /// The gates that have a rate.
    var paced: [Gate] { gates.filter(\.isPaced) }

    /// Where something may wait behind a gate that has a rate; without one, where what has none may.
    ///
    /// - Parameter paced: the gate.
    /// - Returns: the places, whether there is room or not.
    func places(behind paced: Gate?) -> [BatchPlace] {
        targets.flatMap { target in
            Lane.allCases.flatMap { lane in
                numbers(of: target, lane, behind: paced).map { BatchPlace(gate: $0, target: target.id, lane: lane) }
            }
        }
    }

    /// The gates that something for a target may wait behind in a lane: those without rate and 0, or the one with.
    private func numbers(of target: Target, _ lane: Lane, behind paced: Gate?) -> [Int32] {
        guard !gates.isEmpty else { return [0] }
        let here = paced.map { [$0] } ?? gates.filter { !$0.isPaced }
        return (paced == nil ? [0] : []) + here.filter { $0.app == target.app && $0.lanes.contains(lane) }.map(\.id)
    }
}

extension [ClaimedBatch] {
    /// Whether a queue gave as many batches as were wished for: there may be more.
    func fill(_ wishes: [ClaimWish]) -> Bool {
        wishes.contains { wish in
            count { $0.target == wish.target && $0.queue == wish.queue } >= Int(wish.count)
        }
    }
}
