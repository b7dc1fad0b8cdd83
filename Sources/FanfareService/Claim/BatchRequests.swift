internal import FanfareCore
internal import FanfareProviders
internal import FanfareStages
internal import FanfareStore

/// What a claimer can request for: of its targets, what waits behind no gate and behind those that are open.
///
/// What goes at a rate is requested by itself, pace by pace.
struct BatchRequests {
    /// How many more batches of a target's queue the senders take.
    let room: (Target, SendQueue) -> Int
    /// Those that this daemon has credentials for.
    let targets: [Target]
    /// Those that are open.
    let gates: [Gate]
    /// Those of the targets.
    let rates: AppRates

    /// Requests for as much as there is room for at the senders.
    ///
    /// - Parameters:
    ///   - lanes: of which lanes.
    ///   - pace: which, if what goes at a rate is requested.
    ///   - taken: what was claimed and not handed over yet; it has its room.
    ///   - held: what waits for room of another kind; no more of its queues is claimed.
    ///   - floors: from where to look.
    ///   - now: the time by the database.
    /// - Returns: one for each queue with room, and each gate that something may wait behind in it.
    func requests(
        _ lanes: [Lane],
        at pace: Pace? = nil,
        beside taken: [ClaimedBatch] = [],
        sparing held: HeldBatches,
        above floors: ClaimFloors,
        now: Microseconds
    ) -> [BatchRequest] {
        targets.flatMap { target in
            SendQueue.allCases.flatMap { queue -> [BatchRequest] in
                let all = lanes.contains(queue.lane) ? self.room(target, queue) : 0
                let room = all - taken.count { $0.target == target.id && $0.queue == queue }
                guard room > 0, !held.contains(target.id, queue) else { return [] }
                return numbers(of: target, queue.lane, at: pace).map { gate in
                    BatchRequest(
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
    var places: [BatchPlace] {
        targets.flatMap { target in
            Lane.allCases.flatMap { lane in
                numbers(of: target, lane).map { BatchPlace(gate: $0, target: target.id, lane: lane) }
            }
        }
    }

    /// Where something may wait that goes at a rate, whether there is room for it or not, by how it is claimed.
    var paces: [BatchPlace: Pace] {
        var paces: [BatchPlace: Pace] = [:]
        for target in targets {
            for lane in Lane.allCases {
                let own = rates.of(target, in: lane)
                let here = gates.filter { $0.isPaced || !own.isEmpty }.filter { $0.holds(target, in: lane) }.map(\.id)
                for gate in own.isEmpty ? here : [0] + here {
                    paces[BatchPlace(gate: gate, target: target.id, lane: lane)] = Pace(
                        gate: gate,
                        lane: lane,
                        rates: own
                    )
                }
            }
        }
        return paces
    }

    /// The gates that something for a target may wait behind in a lane: those without rate and 0, or that of a pace.
    private func numbers(of target: Target, _ lane: Lane, at pace: Pace? = nil) -> [Int32] {
        let own = rates.of(target, in: lane)
        guard let pace else {
            guard own.isEmpty else { return [] }
            return [0] + gates.filter { !$0.isPaced && $0.holds(target, in: lane) }.map(\.id)
        }
        let isHere = pace.gate == 0 || gates.contains { $0.id == pace.gate && $0.holds(target, in: lane) }
        return pace.lane == lane && pace.rates == own && isHere ? [pace.gate] : []
    }
}

extension Gate {
    /// Whether something for a target may wait behind it in a lane.
    fileprivate func holds(_ target: Target, in lane: Lane) -> Bool {
        app == target.app && lanes.contains(lane)
    }
}

extension [ClaimedBatch] {
    /// Whether a queue gave as many batches as were requested: there may be more.
    func fill(_ requests: [BatchRequest]) -> Bool {
        requests.contains { request in
            count { $0.target == request.target && $0.queue == request.queue } >= Int(request.count)
        }
    }
}
