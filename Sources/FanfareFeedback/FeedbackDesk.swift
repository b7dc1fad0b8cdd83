internal import FanfareCore
internal import FanfareLogging
internal import FanfareStages
internal import FanfareStore
internal import Logging
internal import PostgresClient
internal import Threading

/// What a daemon's hooks are told, and what came of it; used by the teller's thread alone.
final class FeedbackDesk {
    /// The pause between deliveries to a hook that is told of everything; what comes meanwhile goes in one.
    private static let pause = Micros.second

    /// A delivery that was given to a courier.
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
    private var couriers: [String: FeedbackCourier] = [:]
    /// Couriers that were told to stop.
    private var leaving: [FeedbackCourier] = []
    private var underWay: [String: UnderWay] = [:]
    /// By steady time.
    private var notBefore: [String: Microseconds] = [:]
    /// Whose hooks of which names were kept last.
    private var kept: (owner: Int32, names: [String])?
    private var hasToldOfOldDaemons = false

    /// Whether this daemon may have hooks in the database.
    var hasHooks: Bool { kept.map { !$0.names.isEmpty } ?? false }

    init(logger: Logger, bell: Bell) {
        (self.logger, self.bell) = (logger, bell)
    }

    /// Dismisses the couriers of hooks that are gone or go elsewhere.
    ///
    /// What was under way there is sent again, by the same id.
    func keep(_ hooks: [FeedbackHook]) {
        for (name, courier) in couriers {
            let way = hooks.first { $0.name == name }?.way
            guard way != .post(courier.receiver) else { continue }
            courier.stop()
            leaving.append(courier)
            (couriers[name], underWay[name], notBefore[name]) = (nil, nil, nil)
        }
        leaving.removeAll(where: \.hasLeft)
    }

    /// Ends all couriers and waits for them.
    func stop() {
        for courier in couriers.values { courier.stop() }
        for courier in leaving + couriers.values { courier.join() }
        (couriers, leaving, underWay) = ([:], [], [:])
    }

    /// Writes down answers, and tells what there is to tell.
    ///
    /// - Parameters:
    ///   - hooks: all there are.
    ///   - owner: this daemon's number.
    ///   - connection: outside a transaction.
    /// - Returns: after how many microseconds there may be more to do, unless the bell rings.
    /// - Throws: what the database says.
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
            let row = rows.first { $0.name == hook.name }
            wait = min(wait, try look(after: hook, row, as: owner, on: connection))
        }
        return max(wait, 0)
    }

    private func look(
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
        do throws(PostgresError) {
            _ = try connection.run(RequireFeedbackDaemons())
        } catch {
            guard error.sqlState == "55000" else { throw error }
            if !hasToldOfOldDaemons {
                logger.warning(
                    "no hook is told anything as long as a daemon of an older version runs, which notes nothing for it",
                    metadata: .init([.hook: "\(hook.name)", .error: "\(error)"])
                )
            }
            hasToldOfOldDaemons = true
            return Self.pause
        }
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
            warn(of: slice.lost, for: hook.name)
            let notify = NotifyFeedback(channel: channel, payloads: FeedbackBody.notifications(slice.items))
            let advance = AdvanceFeedback(delivery, to: slice.end, isTold: true, lost: slice.lost)
            try connection.transaction { connection throws(PostgresError) in
                if try !connection.run(advance).isEmpty { _ = try connection.run(notify) }
            }
            return slice.hasMore ? 0 : Self.pause
        case .post(let receiver):
            let (body, count) = FeedbackBody.request(slice.items, isWhole: row.until != nil)
            slice.cut(to: count)
            if row.until == nil {
                let begun = try connection.runReturningCount(BeginFeedback(delivery, until: slice.end))
                guard begun == 1 else { return Self.pause }
            }
            warn(of: slice.lost, for: hook.name)
            let courier = couriers[hook.name] ?? FeedbackCourier(to: receiver, name: hook.name, bell: bell)
            couriers[hook.name] = courier
            underWay[hook.name] = UnderWay(
                delivery: delivery,
                until: slice.end,
                lost: slice.lost,
                failures: Int(row.failures),
                hasMore: slice.hasMore
            )
            courier.send(FeedbackParcel(id: "\(row.key).\(row.delivery)", body: body))
            return Self.pause
        }
    }

    private func warn(of lost: Int64, for hook: String) {
        guard lost > 0 else { return }
        logger.error(
            "the log has no more what a hook was to be told; it goes on with what there is",
            metadata: .init([.hook: "\(hook)", .count: "\(lost)"])
        )
    }

    // MARK: Answers

    private func hearAnswer(of name: String, on connection: PostgresConnection) throws(PostgresError) -> Microseconds {
        guard var work = underWay[name], let answer = work.answer ?? couriers[name]?.takeAnswer() else {
            return Self.pause
        }
        // Kept until it is written down.
        work.answer = answer
        underWay[name] = work
        switch answer {
        case .taken:
            let advance = AdvanceFeedback(work.delivery, to: work.until, isTold: true, lost: work.lost)
            if let failures = try connection.run(advance).first, failures > 0 {
                logger.notice(
                    "a hook takes feedback again",
                    metadata: .init([.hook: "\(name)", .count: "\(failures)"])
                )
            }
            notBefore[name] = work.hasMore ? nil : Clocks.steady + Self.pause
        case .ended:
            let fail = FailFeedback(work.delivery, error: "it answered 410", waits: 0, isEnd: true)
            if try !connection.run(fail).isEmpty {
                logger.error(
                    "a hook answered 410: it is told nothing more until somebody resumes it",
                    metadata: .init([.hook: "\(name)", .hint: "fanfare feedback resume \(name)"])
                )
            }
        case .refused(let reason, let retryAfter):
            let wait = FeedbackWait.wait(after: work.failures + 1, retryAfter: retryAfter, random: Clocks.unitRandom)
            let fail = FailFeedback(work.delivery, error: reason, waits: wait, isEnd: false)
            if try connection.run(fail).first == 1 {
                logger.warning(
                    "a hook does not take feedback; it is tried again until it does",
                    metadata: .init([
                        .hook: "\(name)", .error: "\(reason)", .retryMilliseconds: "\(wait / Micros.millisecond)",
                    ])
                )
            }
        }
        underWay[name] = nil
        return 0
    }
}
