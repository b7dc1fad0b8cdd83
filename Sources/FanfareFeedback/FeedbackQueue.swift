internal import FanfareCore
internal import FanfareLogging
internal import FanfareStages
internal import FanfareStore
internal import Logging
internal import PostgresClient
internal import Threading

/// The positions, deliveries and answers of a daemon's hooks; used only by the dispatcher's thread.
final class FeedbackQueue {
    /// The pause between deliveries to a hook; outcomes that arrive in the meantime are sent together.
    private static let pause = Micros.second

    /// A delivery that was passed to a sender.
    private struct UnderWay {
        let delivery: FeedbackDelivery
        let until: FeedbackPlace
        let lost: Int64
        /// The number of failures before this attempt.
        let failures: Int
        /// Whether more outcomes follow than fit into the delivery.
        let hasMore: Bool
        /// The answer, until it is stored in the database.
        var answer: FeedbackAnswer?
    }

    private let logger: Logger
    private let bell: Bell
    private var senders: [String: FeedbackSender] = [:]
    /// Senders that are stopping.
    private var leaving: [FeedbackSender] = []
    private var underWay: [String: UnderWay] = [:]
    /// The earliest time of the next delivery by hook, in monotonic time.
    private var notBefore: [String: Microseconds] = [:]
    /// The database error of each hook in the last turn.
    private var troubled: [String: String] = [:]
    /// The owner number and hook names of the last release of other hooks.
    private var kept: (owner: Int32, names: [String])?

    /// Whether this daemon may own hooks in the database.
    var hasHooks: Bool { kept.map { !$0.names.isEmpty } ?? false }

    init(logger: Logger, bell: Bell) {
        (self.logger, self.bell) = (logger, bell)
    }

    /// Stops the senders of hooks that were removed or have a new address.
    ///
    /// Their unanswered deliveries are sent again with the same id.
    func keep(_ hooks: [FeedbackHook]) {
        for (name, sender) in senders {
            let way = hooks.first { $0.name == name }?.way
            guard way != .post(sender.receiver) else { continue }
            sender.stop()
            leaving.append(sender)
            (senders[name], underWay[name], notBefore[name]) = (nil, nil, nil)
        }
        leaving.removeAll(where: \.hasLeft)
    }

    /// Stops all senders and waits for their threads.
    func stop() {
        for sender in senders.values { sender.stop() }
        for sender in leaving + senders.values { sender.join() }
        (senders, leaving, underWay) = ([:], [], [:])
    }

    /// Stores answers and starts deliveries.
    ///
    /// - Parameters:
    ///   - hooks: all hooks.
    ///   - owner: this daemon's owner number.
    ///   - connection: a connection outside a transaction.
    /// - Returns: the time in microseconds until there may be more to do, unless the bell rings first.
    /// - Throws: errors of the server, except those of a single hook: these are logged, and the other hooks continue.
    func takeTurn(
        _ hooks: [FeedbackHook],
        as owner: Int32,
        on connection: PostgresConnection
    ) throws(PostgresError) -> Microseconds {
        let names = hooks.map(\.name)
        if kept?.owner != owner || kept?.names != names {
            _ = try connection.run(SQL.releaseFeedbackHooks(owner, names))
            kept = (owner, names)
        }
        _ = try connection.run(SQL.numberFeedback())
        let rows = try connection.run(SQL.feedbackHooks(names))
        var wait = Self.pause
        for hook in hooks {
            do throws(PostgresError) {
                let row = rows.first { $0.name == hook.name }
                wait = min(wait, try check(after: hook, row, as: owner, on: connection))
                troubled[hook.name] = nil
            } catch {
                // An error of one hook must not stop the others.
                guard !error.isOutage, !connection.isClosed else { throw error }
                note(error, of: hook.name)
            }
        }
        return max(wait, 0)
    }

    /// Logs a hook's database error; a repeated error is logged once.
    private func note(_ error: PostgresError, of hook: String) {
        notBefore[hook] = Clocks.steady + Self.pause
        guard troubled.updateValue("\(error)", forKey: hook) != "\(error)" else { return }
        logger.warning(
            "a database statement of a feedback hook failed; retrying every second",
            metadata: .init([.hook: "\(hook)", .error: "\(error)"])
        )
    }

    private func check(
        after hook: FeedbackHook,
        _ row: FeedbackHookRow?,
        as owner: Int32,
        on connection: PostgresConnection
    ) throws(PostgresError) -> Microseconds {
        if underWay[hook.name] != nil { return try hearAnswer(of: hook.name, on: connection) }
        guard let row else { return try introduce(hook, on: connection) }
        if row.owner != owner {
            guard row.isFree, try connection.runReturningCount(SQL.takeFeedbackHook(hook.name, owner)) == 1
            else {
                return Self.pause
            }
            return 0
        }
        // Only the daemon that owns the hook stores its settings: daemons with different configurations would overwrite
        // each other.
        if row.codes != hook.codes || row.app != hook.app || row.isUnseen {
            _ = try connection.run(SQL.putFeedbackHook(hook.name, hook.codes, hook.app))
            return 0
        }
        let pause = (notBefore[hook.name] ?? 0) - Clocks.steady
        guard !row.hasEnded, row.hasMore || row.until != nil else { return Self.pause }
        guard max(row.waits, pause) <= 0 else { return max(row.waits, pause) }
        return try tell(hook, row, as: owner, on: connection)
    }

    /// Registers a hook; it receives the outcomes that are numbered from then on.
    private func introduce(_ hook: FeedbackHook, on connection: PostgresConnection) throws(PostgresError)
        -> Microseconds
    {
        _ = try connection.run(SQL.putFeedbackHook(hook.name, hook.codes, hook.app))
        return 0
    }

    // MARK: Delivery

    private func tell(
        _ hook: FeedbackHook,
        _ row: FeedbackHookRow,
        as owner: Int32,
        on connection: PostgresConnection
    ) throws(PostgresError) -> Microseconds {
        let delivery = FeedbackDelivery(hook: hook.name, owner: owner, number: row.delivery)
        let read = SQL.readFeedback(row.place, row.until?.number, row.until?.position, row.codes, row.app)
        var slice = FeedbackSlice(try connection.run(read), before: row.until ?? row.place, isFixed: row.until != nil)
        guard !slice.items.isEmpty else {
            warn(of: slice.lost, for: hook.name)
            let advance = SQL.advanceFeedback(delivery, slice.end, false, slice.lost)
            return try connection.run(advance).isEmpty ? Self.pause : 0
        }
        switch hook.way {
        case .notify(let channel):
            let notify = SQL.notifyFeedback(channel, FeedbackBody.notifications(slice.items))
            let advance = SQL.advanceFeedback(delivery, slice.end, true, slice.lost)
            do throws(PostgresError) {
                let failures = try connection.transaction { connection throws(PostgresError) in
                    let failures = try connection.run(advance).first
                    if failures != nil { _ = try connection.run(notify) }
                    return failures
                }
                if let failures {
                    warn(of: slice.lost, for: hook.name)
                    note(success: hook.name, after: failures)
                }
            } catch {
                // The NOTIFY queue may be full; PostgreSQL reports that at commit.
                guard !error.isOutage, !connection.isClosed else { throw error }
                try note(
                    refusal: "\(error)",
                    retryAfter: nil,
                    of: delivery,
                    failures: Int(row.failures),
                    on: connection
                )
                return Self.pause
            }
            return slice.hasMore ? 0 : Self.pause
        case .post(let receiver):
            let (body, count) = FeedbackBody.request(slice.items, isWhole: row.until != nil)
            slice.cut(to: count)
            if row.until == nil {
                let begun = try connection.runReturningCount(SQL.beginFeedback(delivery, slice.end))
                guard begun == 1 else { return Self.pause }
                warn(of: slice.lost, for: hook.name)
            }
            let sender = senders[hook.name] ?? FeedbackSender(to: receiver, name: hook.name, bell: bell)
            senders[hook.name] = sender
            underWay[hook.name] = UnderWay(
                delivery: delivery,
                until: slice.end,
                lost: slice.lost,
                failures: Int(row.failures),
                hasMore: slice.hasMore
            )
            sender.send(FeedbackParcel(id: "\(row.key).\(row.delivery)", body: body))
            return Self.pause
        }
    }

    private func warn(of lost: Int64, for hook: String) {
        guard lost > 0 else { return }
        logger.error(
            "outcomes were deleted before a feedback hook got them; continuing with the rest",
            metadata: .init([.hook: "\(hook)", .count: "\(lost)"])
        )
    }

    // MARK: Answers

    private func hearAnswer(of name: String, on connection: PostgresConnection) throws(PostgresError) -> Microseconds {
        guard var work = underWay[name], let answer = work.answer ?? senders[name]?.takeAnswer() else {
            return Self.pause
        }
        // The answer is kept until it is stored.
        work.answer = answer
        underWay[name] = work
        switch answer {
        case .taken:
            let advance = SQL.advanceFeedback(work.delivery, work.until, true, work.lost)
            if let failures = try connection.run(advance).first { note(success: name, after: failures) }
            notBefore[name] = work.hasMore ? nil : Clocks.steady + Self.pause
        case .ended:
            let fail = SQL.failFeedback(work.delivery, "it answered 410", 0, true)
            if try !connection.run(fail).isEmpty {
                logger.error(
                    "a feedback hook answered 410; stopped until it is resumed",
                    metadata: .init([.hook: "\(name)", .hint: "fanfare feedback resume \(name)"])
                )
            }
        case .refused(let reason, let retryAfter):
            let (delivery, failures) = (work.delivery, work.failures)
            try note(refusal: reason, retryAfter: retryAfter, of: delivery, failures: failures, on: connection)
        }
        underWay[name] = nil
        return 0
    }

    private func note(success hook: String, after failures: Int32) {
        guard failures > 0 else { return }
        logger.notice("a feedback hook works again", metadata: .init([.hook: "\(hook)", .count: "\(failures)"]))
    }

    private func note(
        refusal reason: String,
        retryAfter: Microseconds?,
        of delivery: FeedbackDelivery,
        failures: Int,
        on connection: PostgresConnection
    ) throws(PostgresError) {
        let wait = FeedbackWait.wait(after: failures + 1, retryAfter: retryAfter, random: Clocks.unitRandom)
        let fail = SQL.failFeedback(delivery, reason, wait, false)
        guard try connection.run(fail).first == 1 else { return }
        logger.warning(
            "a feedback hook fails; retrying",
            metadata: .init([
                .hook: "\(delivery.hook)", .error: "\(reason)", .retryMilliseconds: "\(wait / Micros.millisecond)",
            ])
        )
    }
}
