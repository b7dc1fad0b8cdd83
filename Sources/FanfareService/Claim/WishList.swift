internal import FanfareCore
internal import FanfareProviders
internal import FanfareStages
internal import FanfareStore

/// What a claimer can wish for: of its targets, what waits behind no gate and behind those that are open.
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
    ///   - held: what waits for room of another kind; no more of its queues is claimed.
    ///   - floors: from where to look.
    ///   - now: the time by the database.
    /// - Returns: one for each queue with room, and each gate that something may wait behind in it.
    func wishes(
        _ lanes: [Lane],
        sparing held: HeldBatches,
        above floors: ClaimFloors,
        now: Microseconds
    ) -> [ClaimWish] {
        targets.flatMap { target in
            SendQueue.allCases.flatMap { queue -> [ClaimWish] in
                let room = lanes.contains(queue.lane) ? roster.room(target, queue) : 0
                guard room > 0, !held.contains(target.id, queue) else { return [] }
                return numbers(of: target, queue.lane).map { gate in
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

    /// Where something may wait, whether there is room for it or not.
    var places: [BatchPlace] {
        targets.flatMap { target in
            Lane.allCases.flatMap { lane in
                numbers(of: target, lane).map { BatchPlace(gate: $0, target: target.id, lane: lane) }
            }
        }
    }

    /// The gates that something for a target may wait behind in a lane, and 0.
    private func numbers(of target: Target, _ lane: Lane) -> [Int32] {
        guard !gates.isEmpty else { return [0] }
        return [0] + gates.filter { $0.app == target.app && $0.lanes.contains(lane) }.map(\.id)
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
