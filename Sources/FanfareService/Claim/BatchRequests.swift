internal import FanfareCore
internal import FanfareProviders
internal import FanfareStages
internal import FanfareStore

/// The claim requests for a daemon's targets: for batches without a gate, and behind open gates.
///
/// Batches under a rate are requested separately, pace by pace.
struct BatchRequests {
    /// Returns how many more batches of a target's queue the senders can take.
    let room: (Target, SendQueue) -> Int
    /// The targets for which this daemon has credentials.
    let targets: [Target]
    /// The open gates.
    let gates: [Gate]
    /// The rates of the targets.
    let rates: AppRates

    /// Returns requests for as many batches as the senders have room for.
    ///
    /// - Parameters:
    ///   - lanes: the lanes to request.
    ///   - pace: the pace to request batches of; nil for batches without a rate.
    ///   - taken: batches that are claimed but not handed over yet, and already use room.
    ///   - held: batches that wait for budget; nothing is requested from their queues.
    ///   - floors: the lower bounds of the scans.
    ///   - now: the database's time.
    /// - Returns: one request for each queue with room and each gate that its batches may wait behind.
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
                        // The room is shared with the target's devices. One batch at a time, so that both together do
                        // not exceed it.
                        count: target.nativeKey == nil ? Int32(room) : 1,
                        floor: floors.floor(gate: gate, target: target.id, queue, now: now)
                    )
                }
            }
        }
    }

    /// The places where batches without a rate may wait, regardless of room.
    var places: [BatchPlace] {
        targets.flatMap { target in
            Lane.allCases.flatMap { lane in
                numbers(of: target, lane).map { BatchPlace(gate: $0, target: target.id, lane: lane) }
            }
        }
    }

    /// The places where batches under a rate may wait, regardless of room, with the pace under which each is claimed.
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

    /// Returns the gates that a target's batches may wait behind in a lane: 0 and the gates without a rate, or the gate
    /// of the pace.
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
    /// Returns whether a target's batches may wait behind the gate in a lane.
    fileprivate func holds(_ target: Target, in lane: Lane) -> Bool {
        app == target.app && lanes.contains(lane)
    }
}

extension [ClaimedBatch] {
    /// Returns whether a queue returned as many batches as requested, so that more may be due.
    func fill(_ requests: [BatchRequest]) -> Bool {
        requests.contains { request in
            count { $0.target == request.target && $0.queue == request.queue } >= Int(request.count)
        }
    }
}
