internal import FanfareSending
internal import FanfareStages
internal import FanfareStore
internal import PostgresClient
internal import Threading

/// The batches of at-most-once rules, which are marked as attempted before they are handed over.
extension Claimer {
    /// Marks batches of at-most-once rules as attempted and hands them to the senders, as far as the in-flight budget
    /// allows.
    func passOnHeld(_ work: inout Work, on connection: PostgresConnection) throws(PostgresError) {
        guard !work.held.isEmpty else { return }
        windows.whenReleased(for: name) { [bell] in bell.ring() }
        while let (held, window) = work.held.next(in: windows) {
            let batch = held.prepared.batch
            let isOurs: Bool
            do {
                isOurs = try mark(held.prepared, on: connection)
            } catch {
                // The batch stays held. If the mark was committed after all, it is repeated.
                windows.release([batch.share: window])
                throw error
            }
            work.held.remove(held)
            if isOurs {
                handover.hand(held.prepared, window: window, to: held.roster)
            } else {
                windows.release([batch.share: window])
            }
        }
    }

    /// Commits a mark that the deliveries are attempted, so that after a crash they are unknown and never repeated.
    ///
    /// - Returns: whether the batch still belongs to this daemon.
    private func mark(
        _ prepared: BatchPreparer.Prepared,
        on connection: PostgresConnection
    ) throws(PostgresError) -> Bool {
        let batch = prepared.batch
        let record = OpenBatch(batch, decided: prepared.decided).record
        return try connection.transaction { connection throws(PostgresError) in
            try connection.run(FlushCommit())
            return try connection.run(Checkpoint(owner: batch.owner, batches: [record])).batches
        }.contains(batch.claimed.id)
    }

    /// Gives back the held batches that match a condition.
    func leaveHeld(_ work: inout Work, where isOver: (PreparedBatch) -> Bool) {
        for held in work.held.all where isOver(held.prepared.batch) {
            giveBack([held])
            work.held.remove(held)
        }
    }

    /// Gives back held batches, so that another claim can send them.
    func giveBack(_ held: [HeldBatches.Held]) {
        for prepared in held.map(\.prepared) {
            for line in prepared.lines { context.logDecision(line) }
            handover.recorder.put(.opened(prepared.batch, decided: prepared.decided))
            handover.recorder.put(.givenBack(prepared.batch))
        }
    }
}
