internal import Threading

/// One session of a pool: a connection on its own thread, which waits for work.
final class PoolSession: Sendable {
    /// The operations on an open session that other threads may use.
    private struct Reach: Sendable {
        let watch: PostgresWatch
        let canceller: PostgresCanceller?
    }

    let id: PoolStateMachine.SessionID
    /// Jobs to run; closed when the session is to end.
    let work = Mailbox<PoolJob>()
    private let stop = WakeSignal()
    private let reach = Locked<Reach?>(nil)

    init(_ id: PoolStateMachine.SessionID) {
        self.id = id
    }

    /// Opens a connection and runs jobs until the mailbox closes; the whole life of the session's thread.
    ///
    /// - Parameter core: supplies jobs and receives the session's events.
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
        // Only at this point is it certain that no part of the work has been sent.
        guard connection.isStillThere() else {
            core.foundStale(id, job)
            return
        }
        job.perform(connection)
        let (isUsable, hadTransaction) = connection.tidyUp()
        // The session is returned before the job ends, so that a caller that continues at once finds it free.
        core.givenBack(id, isUsable: isUsable)
        job.end(hadTransaction ? .failure(.openTransaction) : .success(()))
    }

    /// Stops the attempt to open the session.
    func stopOpening() {
        stop.wake()
    }

    /// Refuses further statements and asks the server to cancel the running one.
    ///
    /// Does not block. If no thread can be started for the cancel request, the connection is abandoned.
    func interrupt() {
        guard let reach = reach.withLock({ $0 }) else { return }
        reach.watch.refuse()
        guard let canceller = reach.canceller else { return reach.watch.abandon() }
        // The thread ends by itself: no code waits for it, and it uses nothing of the pool.
        let asking = WorkerThread.startIfPossible(name: "cancel") { canceller.cancel() }
        if asking == nil { reach.watch.abandon() }
    }

    /// Abandons the connection, so that a blocked call ends at once.
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
