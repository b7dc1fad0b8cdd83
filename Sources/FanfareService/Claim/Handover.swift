internal import FanfareStages
internal import Threading

/// Hands prepared batches to the senders, and tells the recorder of them first.
struct Handover {
    let context: StageContext
    let recorder: Mailbox<RecorderMessage>

    /// Hands over one.
    ///
    /// - Parameters:
    ///   - prepared: a batch that is ours in the database.
    ///   - window: how much of the room for attempted deliveries it holds; 0 unless it promises at most once.
    ///   - roster: the pools for which it was rendered.
    func hand(_ prepared: BatchPreparer.Prepared, window: Int = 0, to roster: SenderRoster) {
        // Not when they were decided: what is prepared may be given back, and prepared again.
        for line in prepared.lines { context.logDecision(line) }
        let opened = RecorderMessage.opened(prepared.batch, decided: prepared.decided, window: window)
        // Without news the recorder sleeps on: it would take the sender's processor.
        recorder.put(opened, isUrgent: opened.bringsNews)
        if !prepared.batch.deliveries.isEmpty { roster.send(prepared.batch) }
    }
}
