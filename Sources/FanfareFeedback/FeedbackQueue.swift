internal import FanfareCore
internal import FanfareLogging
internal import FanfareStages
internal import FanfareStore
internal import Logging
internal import PostgresClient
internal import Threading

/// What a daemon's hooks are told, and what came of it; used by the dispatcher's thread alone.
final class FeedbackQueue {
    /// The pause between deliveries to a hook that is told of everything; what comes meanwhile goes in one.
    private static let pause = Micros.second

    /// A delivery that was given to a sender.
    private struct UnderWay {
        let delivery: FeedbackDelivery
        let until: FeedbackPlace
        let lost: Int64
        /// How often it failed before.
        let failures: Int
        /// Whether there was more than fits.
        let hasMore: Bool
        /// What came of it, as long as that is not written down.
        var answer: FeedbackAnswer?
    }

    private let logger: Logger
    private let bell: Bell
    private var senders: [String: FeedbackSender] = [:]
    /// Senders that were told to stop.
    private var leaving: [FeedbackSender] = []
    private var underWay: [String: UnderWay] = [:]
    /// By steady time.
    private var notBefore: [String: Microseconds] = [:]
    /// What the database said of a hook in the last turn.
    private var troubled: [String: String] = [:]
    /// Whose hooks of which names were kept last.
    private var kept: (owner: Int32, names: [String])?

    /// Whether this daemon may have hooks in the database.
    var hasHooks: Bool { kept.map { !$0.names.isEmpty } ?? false }

    init(logger: Logger, bell: Bell) {
        (self.logger, self.bell) = (logger, bell)
    }

    /// Dismisses the senders of hooks that are gone or go elsewhere.
    ///
    /// What was under way there is sent again, by the same id.
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

    /// Ends all senders and waits for them.
    func stop() {
        for sender in senders.values { sender.stop() }
        for sender in leaving + senders.values { sender.join() }
        (senders, leaving, underWay) = ([:], [], [:])
    }

    /// Writes down answers, and tells what there is to tell.
    ///
    /// - Parameters:
    ///   - hooks: all there are.
    ///   - owner: this daemon's number.
    ///   - connection: outside a transaction.
    /// - Returns: after how many microseconds there may be more to do, unless the bell rings.
    /// - Throws: what the database says, but of one hook alone: that is told, and the others go on.
    func takeTurn(
        _ hooks: [FeedbackHook],
        as owner: Int32,
        on connection: PostgresConnection
    ) throws(PostgresError) -> Microseconds {
        let names = hooks.map(\.name)
        if kept?.owner != owner || kept?.names != names {
            _ = try connection.run(ReleaseFeedbackHooks(owner: owner, keeping: names))
            kept = (owner, names)
        }
        _ = try connection.run(NumberFeedback())
        let rows = try connection.run(FeedbackHooks(names: names))
        var wait = Self.pause
        for hook in hooks {
            do throws(PostgresError) {
                let row = rows.first { $0.name == hook.name }
                wait = min(wait, try check(after: hook, row, as: owner, on: connection))
                troubled[hook.name] = nil
            } catch {
                // Of one hook alone, which is to hold up no other.
                guard !error.isOutage, !connection.isClosed else { throw error }
                note(error, of: hook.name)
            }
        }
        return max(wait, 0)
    }

    /// What the database says again and again is told once.
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
            guard row.isFree, try connection.runReturningCount(TakeFeedbackHook(hook: hook.name, owner: owner)) == 1
            else {
                return Self.pause
            }
            return 0
        }
        // Only who tells it says what it wants: daemons with different configurations would contradict each other.
        if row.codes != hook.codes || row.app != hook.app || row.isUnseen {
            _ = try connection.run(PutFeedbackHook(hook: hook.name, codes: hook.codes, app: hook.app))
            return 0
        }
        let pause = (notBefore[hook.name] ?? 0) - Clocks.steady
        guard !row.hasEnded, row.hasMore || row.until != nil else { return Self.pause }
        guard max(row.waits, pause) <= 0 else { return max(row.waits, pause) }
        return try tell(hook, row, as: owner, on: connection)
    }

    /// Makes a hook known; from then on outcomes are noted for it.
    private func introduce(_ hook: FeedbackHook, on connection: PostgresConnection) throws(PostgresError)
        -> Microseconds
    {
        _ = try connection.run(PutFeedbackHook(hook: hook.name, codes: hook.codes, app: hook.app))
        return 0
    }

    // MARK: Telling

    private func tell(
        _ hook: FeedbackHook,
        _ row: FeedbackHookRow,
        as owner: Int32,
        on connection: PostgresConnection
    ) throws(PostgresError) -> Microseconds {
        let delivery = FeedbackDelivery(hook: hook.name, owner: owner, number: row.delivery)
        let read = ReadFeedback(after: row.place, upTo: row.until, codes: row.codes, app: row.app)
        var slice = FeedbackSlice(try connection.run(read), before: row.until ?? row.place, isFixed: row.until != nil)
        guard !slice.items.isEmpty else {
            warn(of: slice.lost, for: hook.name)
            let advance = AdvanceFeedback(delivery, to: slice.end, isTold: false, lost: slice.lost)
            return try connection.run(advance).isEmpty ? Self.pause : 0
        }
        switch hook.way {
        case .notify(let channel):
            let notify = NotifyFeedback(channel: channel, payloads: FeedbackBody.notifications(slice.items))
            let advance = AdvanceFeedback(delivery, to: slice.end, isTold: true, lost: slice.lost)
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
                // PostgreSQL's queue of notifications may be full, which it says at the commit.
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
                let begun = try connection.runReturningCount(BeginFeedback(delivery, until: slice.end))
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
        // Kept until it is written down.
        work.answer = answer
        underWay[name] = work
        switch answer {
        case .taken:
            let advance = AdvanceFeedback(work.delivery, to: work.until, isTold: true, lost: work.lost)
            if let failures = try connection.run(advance).first { note(success: name, after: failures) }
            notBefore[name] = work.hasMore ? nil : Clocks.steady + Self.pause
        case .ended:
            let fail = FailFeedback(work.delivery, error: "it answered 410", waits: 0, isEnd: true)
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
        let fail = FailFeedback(delivery, error: reason, waits: wait, isEnd: false)
        guard try connection.run(fail).first == 1 else { return }
        logger.warning(
            "a feedback hook fails; retrying",
            metadata: .init([
                .hook: "\(delivery.hook)", .error: "\(reason)", .retryMilliseconds: "\(wait / Micros.millisecond)",
            ])
        )
    }
}
