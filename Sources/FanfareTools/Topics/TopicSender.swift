internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareProviders
internal import PushTransport
internal import Threading

/// Sends the requests of a change over HTTP/2, one for each membership, many at a time.
///
/// Owned by one thread, which waits in the transport.
final class TopicSender {
    /// How a step ended.
    enum End {
        /// Each membership has its result.
        case done
        /// It was asked to stop.
        case stopped
        /// Every further request would fail.
        case failed(ToolError)
    }

    /// The pause between attempts to renew an access token that is still valid.
    private static let renewalPause = 30 * Micros.second
    /// The longest wait for the transport, after which the job looks whether it was asked to stop.
    private static let longestWait = Duration.milliseconds(200)
    /// The shortest wait for the rate limit: several requests are then sent at once.
    private static let shortestWait = Duration.milliseconds(2)

    private let change: TopicChange
    private let probe: FCMProbe
    private let files: CredentialFiles
    private let transport: any PushTransport
    private let stop: TopicStop
    private var bucket: TokenBucket
    private var access: FCMProbe.Access
    private var head: HeaderBlock
    private let body: PushBody
    /// When a valid access token is renewed (steady clock).
    private var renewsAt: Microseconds
    /// Whether FCM rejected the access token.
    private var isRejected = false
    /// Whether the access token replaced a rejected one and FCM has not accepted it yet.
    private var isUnproven = false
    private var heldUntil: Microseconds = 0
    /// Whether FCM was asked if the project exists.
    private var isProjectKnown = false
    private var consequence: ToolError?
    /// The last failure to get an answer, for the error if none came.
    private var lastProblem = ""

    /// Opens no connection yet, but requests an access token.
    ///
    /// - Parameters:
    ///   - change: the change.
    ///   - configuration: checked values.
    ///   - files: reads the service account.
    ///   - stop: stops the job.
    /// - Throws: ``ToolError`` if the app has no usable credentials.
    init(_ change: TopicChange, _ configuration: Configuration, files: CredentialFiles, stop: TopicStop)
        throws(ToolError)
    {
        let app = change.filter.app
        guard let credentials = configuration.apps[app]?.fcm else {
            throw ToolError(
                .configuration,
                "app \(app) has no fcm credentials",
                hint: "Set apps.\(app).fcm.service_account_file."
            )
        }
        self.change = change
        self.files = files
        self.stop = stop
        body = PushBody(change.operation.body)
        let transports = ProviderTransports(configuration.send)
        probe = FCMProbe(app: app, credentials: credentials, transports: transports)
        var options = TransportOptions()
        options.connections = configuration.send.connections
        options.streams = configuration.send.streams
        options.caFile = credentials.caFile
        do {
            access = try probe.access(files)
            head = try Self.head(access, change.operation)
            transport = try transports.make(credentials.endpoint, options)
        } catch {
            throw ToolError(error)
        }
        renewsAt = access.renewsAt
        let asked = min(max(change.rate, TopicChange.rates.lowerBound), TopicChange.rates.upperBound)
        // Time that passes between steps is caught up, without exceeding the quota in any second. The burst is at least what
        // becomes due during the shortest wait.
        let least = max(1, asked * 3 / 1000)
        let burst = max(least, min(asked / 20, TopicChange.rates.upperBound - asked))
        let rate = min(asked, TopicChange.rates.upperBound - least)
        bucket = TokenBucket(
            burst: burst,
            interval: 1_000_000_000 / Int64(rate),
            now: KernelClock.monotonic.nanoseconds
        )
        stop.wakes(transport.waker)
    }

    /// Endpoint and project, to which the progress of a change belongs.
    var place: String { "\(probe.credentials.endpoint) \(access.project)" }

    private static func head(_ access: FCMProbe.Access, _ operation: FCMTopicOperation) throws -> HeaderBlock {
        var fields = [try HeaderField("authorization", "Bearer \(access.token)")]
        if !operation.body.isEmpty { fields.append(try HeaderField("content-type", "application/json")) }
        return try HeaderBlock(fields, method: operation.method)
    }

    /// Closes the connections.
    func close() {
        var answers: [PushAnswer] = []
        transport.close(into: &answers)
    }

    /// Requests each membership of a step, until all have their results.
    ///
    /// - Parameters:
    ///   - step: the step.
    ///   - registrations: the registrations of its memberships.
    ///   - tell: is called after answers, and with the time of a wait for FCM's quota.
    /// - Returns: how it ended; nothing is in flight then.
    /// - Throws: the error of `tell`; requests in flight are abandoned.
    func run(
        _ step: inout TopicStep,
        _ registrations: [String],
        tell: (TopicStep, _ heldSeconds: Int64?) throws(ToolError) -> Void
    ) throws(ToolError) -> End {
        var answers: [PushAnswer] = []
        while !step.isDone {
            let now = Clocks.steady
            // What waits for a connection is then returned unsent.
            if stop.isRequested || consequence != nil { transport.sendUntil = .now }
            if let end = try endOrRenew(step, now) { return end }
            let isSending = consequence == nil && !stop.isRequested && !isRejected && now >= heldUntil
            if isSending { try submit(&step, registrations, now) }
            transport.poll(timeout: patience(step, isSending: isSending, now), into: &answers)
            guard !answers.isEmpty else { continue }
            let held = heldUntil
            for answer in answers { take(answer, in: &step, registrations) }
            answers.removeAll(keepingCapacity: true)
            let seconds = (heldUntil - Clocks.steady) / Micros.second
            try tell(step, heldUntil > held ? max(1, seconds) : nil)
        }
        return .done
    }

    /// Ends the step, or renews the access token, once nothing is in flight.
    private func endOrRenew(_ step: TopicStep, _ now: Microseconds) throws(ToolError) -> End? {
        guard transport.inFlight == 0 else { return nil }
        if let consequence { return .failed(consequence) }
        if stop.isRequested { return .stopped }
        guard isRejected || now >= renewsAt else { return nil }
        do {
            access = try probe.access(files)
            head = try Self.head(access, change.operation)
            (renewsAt, isUnproven, isRejected) = (access.renewsAt, isRejected, false)
        } catch {
            // A token that is merely due for renewal is still valid.
            guard !isRejected else { return .failed(ToolError(error)) }
            renewsAt = now + Self.renewalPause
        }
        return nil
    }

    private func submit(_ step: inout TopicStep, _ registrations: [String], _ now: Microseconds) throws(ToolError) {
        // Nothing new is sent with a token that is about to be renewed.
        guard now < renewsAt else { return }
        let monotonic = KernelClock.monotonic.nanoseconds
        let taken = step.take(min(bucket.available(now: monotonic), transport.freeSlots), now: now)
        var requests: [PushRequest] = []
        requests.reserveCapacity(taken.count)
        for index in taken {
            guard let request = try request(index, registrations[index]) else {
                let refused = FCMTopicVerdict.refused("INVALID_ARGUMENT")
                _ = step.answer(index, refused, isRequested: false, now: now, random: 0)
                continue
            }
            requests.append(request)
        }
        let count = transport.submit(requests[...])
        for _ in 0..<count { _ = bucket.take(now: monotonic) }
        step.giveBack(requests.dropFirst(count).map { Int($0.tag) }[...], now: now)
    }

    private func request(_ index: Int, _ registration: String) throws(ToolError) -> PushRequest? {
        let path = change.operation.path(project: access.project, registration: registration, topic: change.topic)
        guard let path else { return nil }
        do throws(HeaderError) {
            return try PushRequest(tag: UInt64(index), path: path, head: head, body: body)
        } catch {
            throw ToolError(
                .configuration,
                "the project of the service account cannot be part of a path",
                hint: "\(error)"
            )
        }
    }

    /// Returns how long to wait for answers before there is something else to do.
    private func patience(_ step: TopicStep, isSending: Bool, _ now: Microseconds) -> Duration {
        guard isSending else {
            let left = heldUntil - now
            return left > 0 ? min(.microseconds(left), Self.longestWait) : Self.longestWait
        }
        guard step.hasDue(now: now) else {
            guard let next = step.nextRepeat else { return Self.longestWait }
            return min(max(.microseconds(next - now), Self.shortestWait), Self.longestWait)
        }
        // Without a free slot the transport itself returns when one becomes free.
        guard transport.freeSlots > 0 else { return Self.longestWait }
        let untilToken = bucket.nextToken() - KernelClock.monotonic.nanoseconds
        return max(.nanoseconds(max(untilToken, 0)), Self.shortestWait)
    }

    private func take(_ answer: PushAnswer, in step: inout TopicStep, _ registrations: [String]) {
        let index = Int(answer.tag)
        let isAnswered = answer.fate == .answered
        if isAnswered && answer.status != 401 { isUnproven = false }
        if !isAnswered { lastProblem = answer.detail }
        let verdict =
            isAnswered
            ? FCMTopicVerdict(
                change.operation,
                status: Int(answer.status),
                body: answer.body,
                retryAfter: answer.header("retry-after"),
                now: Clocks.wall
            ) : .retry(floor: 0)
        if verdict == .renewCredential && isUnproven { return fail(Self.refusedToken(probe.credentials.endpoint)) }
        let follows = step.answer(
            index,
            verdict,
            isRequested: isAnswered || answer.fate == .ambiguous,
            now: Clocks.steady,
            random: Clocks.unitRandom
        )
        switch follows {
        case .none: break
        case .hold(let wait): heldUntil = max(heldUntil, Clocks.steady + wait)
        case .renew: isRejected = true
        case .doubt: askForProject()
        case .stop(let cause, let words):
            fail(stopped(cause, words.replacing(registrations[index], with: "…")))
        }
    }
}

extension TopicSender {
    /// Asks FCM once whether the project exists, because a 404 without a code does not tell.
    private func askForProject() {
        guard !isProjectKnown else { return }
        isProjectKnown = true
        // An error here is no answer; the job meets it by itself.
        guard (try? probe.knowsProject(access)) == false else { return }
        fail(stopped(.notFound, "404 NOT_FOUND"))
    }

    private func fail(_ error: ToolError) {
        consequence = consequence ?? error
    }

    private static func refusedToken(_ endpoint: Endpoint) -> ToolError {
        ToolError(
            .failed,
            "FCM refuses the access token, also after it was renewed",
            at: "\(endpoint)",
            hint: "Is the service account one of this project, and enabled? `fanfare check --online` asks FCM."
        )
    }

    private func stopped(_ cause: FCMTopicVerdict.Cause, _ words: String) -> ToolError {
        let hint =
            switch cause {
            case .permission:
                "Give the service account a role with \(change.operation.permission), such as Firebase Cloud Messaging "
                    + "API Admin, and enable the Firebase Cloud Messaging API of project \(access.project)."
            case .notFound:
                "Is there a Firebase project \(access.project), with the Firebase Cloud Messaging API enabled?"
            case .foreign:
                "This answer is not from FCM: is apps.\(change.filter.app).fcm.endpoint right?"
            }
        return ToolError(.failed, "FCM says \(words)", at: "\(probe.credentials.endpoint)", hint: hint)
    }

    /// The error for a step of which FCM served nothing.
    var unserved: ToolError {
        let problem = lastProblem.isEmpty ? "" : ": \(lastProblem)"
        return ToolError(
            .failed,
            "FCM serves no changes of topics, also after repeats\(problem)",
            at: "\(probe.credentials.endpoint)",
            hint: "Run the same command again later: it continues where it stopped."
        )
    }
}
