internal import Threading

/// One session of a pool: a connection on a thread of its own, which waits for work.
final class PoolSession: Sendable {
    /// What other threads may do to an open session.
    private struct Reach: Sendable {
        let watch: PostgresWatch
        let canceller: PostgresCanceller?
    }

    let id: PoolStateMachine.SessionID
    /// Work to be done; closed when the session is to end.
    let work = Mailbox<PoolJob>()
    private let stop = WakeSignal()
    private let reach = Locked<Reach?>(nil)

    init(_ id: PoolStateMachine.SessionID) {
        self.id = id
    }

    /// Opens a connection and works until there is no more to do; the whole life of the session's thread.
    ///
    /// - Parameter core: gives work, and is told what becomes of it.
    func live(in core: PoolCore) {
        let connection: PostgresConnection
        do throws(PostgresError) {
            connection = try .open(core.options, stop: stop)
        } catch {
            core.openingFailed(id, error)
            return
        }
        reach.withLock { $0 = Reach(watch: connection.watch, canceller: connection.canceller()) }
        core.opened(id)
        while let jobs = work.take() {
            for job in jobs { serve(job, on: connection, core) }
        }
        connection.close()
        core.ended(id)
    }

    private func serve(_ job: PoolJob, on connection: PostgresConnection, _ core: PoolCore) {
        // The one moment at which it is certain that nothing of the work has been sent.
        guard connection.isStillThere() else {
            core.foundStale(id, job)
            return
        }
        job.perform(connection)
        let (isUsable, hadTransaction) = connection.tidyUp()
        // Given back first: a caller that goes on at once finds it free.
        core.givenBack(id, isUsable: isUsable)
        job.end(hadTransaction ? .failure(.openTransaction) : .success(()))
    }

    /// Stops the attempt to open it.
    func stopOpening() {
        stop.wake()
    }

    /// Lets nothing more be sent, and asks the server to end what it runs.
    ///
    /// Does not block; without a thread to ask on, the session is cut off.
    func interrupt() {
        guard let reach = reach.withLock({ $0 }) else { return }
        reach.watch.refuse()
        guard let canceller = reach.canceller else { return reach.watch.abandon() }
        // Ends by itself: nobody waits for it, and it needs nothing of the pool.
        let asking = WorkerThread.startIfPossible(name: "cancel") { canceller.cancel() }
        if asking == nil { reach.watch.abandon() }
    }

    /// Cuts the session off: a blocked call ends at once.
    func abandon() {
        guard let reach = reach.withLock({ $0 }) else { return }
        reach.watch.abandon()
    }
}

extension PostgresError {
    fileprivate static var openTransaction: PostgresError {
        PostgresError(
            .transactionLeftOpen,
            message: "the work on a pool's session left a transaction open, which was rolled back",
            hint: "Use transaction(_:), or end what BEGIN began."
        )
    }
}
