internal import FanfareSending
internal import FanfareStages
internal import Threading

/// Hands prepared batches to the senders, after announcing them to the recorder.
struct Handover {
    let context: StageContext
    let recorder: Mailbox<RecorderMessage>

    /// Hands over one batch.
    ///
    /// - Parameters:
    ///   - prepared: a batch that this daemon owns in the database.
    ///   - window: the number of slots it holds in the budget for attempted deliveries; 0 unless its rule is
    ///     at-most-once.
    ///   - roster: the pools for which it was rendered.
    func hand(_ prepared: BatchPreparer.Prepared, window: Int = 0, to roster: SenderRoster) {
        // Logged here instead of when they were decided, because a prepared batch may be given back and prepared again.
        for line in prepared.lines { context.logDecision(line) }
        let opened = RecorderMessage.opened(prepared.batch, decided: prepared.decided, window: window)
        // A batch without decided deliveries does not wake the recorder, which would compete with the sender for the
        // processor.
        recorder.put(opened, isUrgent: opened.bringsNews)
        if !prepared.batch.deliveries.isEmpty { roster.send(prepared.batch) }
    }
}
