internal import FanfareCore
internal import FanfareProviders
internal import FanfareSending
internal import FanfareStages
internal import FanfareStore
internal import Logging
internal import PostgresClient

/// One batch while it is prepared: its deliveries are either sent, or decided without a request.
struct BatchDraft {
    let context: StageContext
    let batch: ClaimedBatch
    private let owner: Int32
    let rule: LoadedRule
    let target: Target
    /// The same app's target in the other environment.
    private let otherTarget: Int16?
    /// Nil for a provider that only a newer version knows.
    private let provider: (any Provider)?
    let identity: ProviderIdentity
    /// The key of the handles; nil if devices do not report on these pushes.
    let reportKey: ReportKey?
    /// The handles made so far.
    var handles: [HandleKey: String] = [:]
    let fields: [Int64: DeviceContext]
    /// The badge counts of users.
    let badges: [ExactText: Int64]
    /// The template variables that a campaign's query returned for the user, by the delivery's position.
    let variables: [Int: JSONObject]
    private var suppressions: Suppressions

    private let begunAt: Microseconds
    var verdicts: EventVerdicts
    /// The rendered pushes, and the index of each by its key.
    var variants: [PushVariant] = []
    var rendered: [VariantKey: Int32?] = [:]
    /// The push of the last delivery, which is mostly the push of the next one.
    var lastRendered: (key: VariantKey, variant: Int32?)?
    private var deliveries: [PreparedDelivery] = []
    private var decided: [DeliveryResult] = []
    private var damaged: [Int32: String] = [:]
    var refusals: [Int64: String] = [:]

    init(
        context: StageContext,
        cancels: CancelIndex,
        reports: ReportOrders,
        batch: ClaimedBatch,
        owner: Int32,
        rule: LoadedRule,
        target: Target,
        otherTarget: Int16?,
        app: AppIdentity,
        events: [Int64: EventRow],
        newest: [Int64: Int64],
        fields: [Int64: DeviceContext],
        badges: [ExactText: Int64],
        variables: [Int: JSONObject] = [:],
        suppressions: Suppressions
    ) {
        self.context = context
        self.batch = batch
        self.owner = owner
        self.rule = rule
        (self.target, self.otherTarget) = (target, otherTarget)
        provider = Providers.named(target.provider)
        identity = app[PushProvider(rawValue: target.provider)] ?? ProviderIdentity()
        reportKey = reports.key(of: rule.compiled.definition)
        self.fields = fields
        (self.badges, self.variables, self.suppressions) = (badges, variables, suppressions)
        begunAt = context.lease.databaseNow
        verdicts = EventVerdicts(
            cancels: cancels,
            rule: rule.compiled.definition,
            batch: batch,
            events: events,
            newest: newest,
            now: context.lease.databaseNow
        )
    }

    /// Decides or renders all deliveries.
    ///
    /// - Parameter devices: the batch's devices, in the batch's order.
    /// - Returns: the prepared batch, and the deliveries that are decided without a request.
    mutating func finish(_ devices: ArraySlice<DeviceRow>) -> BatchPreparer.Prepared {
        deliveries.reserveCapacity(devices.count)
        for (position, device) in devices.enumerated() {
            guard needsRequest(position, device) else { continue }
            if let result = decide(position, device) {
                decided.append(result)
            }
        }
        let prepared = PreparedBatch(
            claimed: batch,
            owner: owner,
            rule: rule,
            lane: Lane(rawValue: batch.lane) ?? .normal,
            target: target,
            otherTarget: otherTarget,
            variants: variants,
            deliveries: deliveries,
            refusals: refusals,
            damaged: damaged,
            askedAt: suppressions.askedAt,
            begunAt: begunAt
        )
        return BatchPreparer.Prepared(batch: prepared, decided: decided)
    }

    /// Returns the deliveries to users that are sent unless a cap is full; `devices` are the batch's, in its order.
    mutating func countable(_ devices: ArraySlice<DeviceRow>) -> [CapTaker.Delivery] {
        var deliveries: [CapTaker.Delivery] = []
        for (position, device) in devices.enumerated() {
            guard batch.outcomes.isEmpty || batch.outcomes[position] == Outcome.pending.rawValue,
                let user = device.userID, decideUnasked(position, device) == nil
            else { continue }
            deliveries.append(CapTaker.Delivery(position: position, user: user, event: batch.eventID(at: position)))
        }
        return deliveries
    }

    /// Decides deliveries that would otherwise be sent.
    mutating func leaveOut(_ positions: [Int], as outcome: Outcome) { suppressions.drop(positions, as: outcome) }

    /// Returns whether the delivery has no recorded outcome from an earlier claim of the batch.
    ///
    /// If an earlier claim marked it as attempted under an at-most-once rule, its outcome is unknown.
    private mutating func needsRequest(_ position: Int, _ device: DeviceRow) -> Bool {
        guard !batch.outcomes.isEmpty else { return true }
        switch Outcome(rawValue: batch.outcomes[position]) {
        case .pending: return true
        case .attempted: decided.append(DeliveryResult(position: Int32(position), outcome: .unknown))
        case .retryingOtherEnvironment: if let move = move(position, device) { decided.append(move) }
        default: break
        }
        return false
    }

    /// Returns the recorded retry in the other environment; nil if the device's own environment is tried again first.
    ///
    /// A recorded move is an answer of this environment's provider (``OpenBatch/record``). It is about the current
    /// token if the device was registered before the event was planned and still belongs to this environment.
    private func move(_ position: Int, _ device: DeviceRow) -> DeliveryResult? {
        var history = batch.history
        guard history.marks.insert(.otherEnvironment).inserted, device.target == batch.target,
            let event = verdicts.events[batch.eventID(at: position)], device.registeredAt <= event.plannedAt,
            let otherTarget
        else { return nil }
        let again = FollowUp.again(at: verdicts.now, history: history, target: otherTarget)
        return DeliveryResult(position: Int32(position), outcome: .retryingOtherEnvironment, followUp: again)
    }

    /// Decides a delivery, or adds it to those that are sent.
    private mutating func decide(_ position: Int, _ device: DeviceRow) -> DeliveryResult? {
        if let result = decideUnasked(position, device) { return result }
        let refused = DeliveryResult(position: Int32(position), outcome: .refused)
        guard case .due(let event) = verdicts.verdict(of: batch.eventID(at: position)) else { return refused }
        if case .native(let audience) = rule.compiled.audience { return decideNative(position, audience, event) }
        guard let token = device.token else { return refused }
        guard let address = address(of: device, token: token) else { return endDamaged(position, device, token: token) }
        guard let variant = variant(of: event, for: device, at: position) else { return refused }
        add(
            position,
            variant,
            token: token,
            address: address,
            registeredAt: device.registeredAt.microseconds,
            user: device.userID,
            doubtedBy: device.doubtedBy,
            isInstallation: device.isInstallation
        )
        return nil
    }

    /// Ends a delivery that can never be sent; disables the device if the provider defines an outcome for that.
    private mutating func endDamaged(_ position: Int, _ device: DeviceRow, token: String) -> DeliveryResult {
        let outcome = provider?.invalidRecipient ?? .refused
        guard outcome.kind == .gone else { return DeliveryResult(position: Int32(position), outcome: outcome) }
        damaged[Int32(position)] = token
        let evidence = PruneEvidence(strength: .weak, registeredUpTo: device.registeredAt.microseconds)
        return DeliveryResult(position: Int32(position), outcome: outcome, followUp: .prune(evidence))
    }

    /// Returns the outcome that is known without rendering; nil if there is none or the provider manages the audience.
    private mutating func decideUnasked(_ position: Int, _ device: DeviceRow) -> DeliveryResult? {
        let event: EventRow
        switch verdicts.verdict(of: batch.eventID(at: position)) {
        case .decided(let outcome): return DeliveryResult(position: Int32(position), outcome: outcome)
        case .due(let due): event = due
        }
        if case .native = rule.compiled.audience { return nil }
        guard device.token != nil, device.isEnabled else {
            return DeliveryResult(position: Int32(position), outcome: .disabled)
        }
        if isHeldOut(position) { return DeliveryResult(position: Int32(position), outcome: .heldOut) }
        if let decision = suppressions[position] { return result(of: decision, position, event) }
        if device.target != batch.target, let history = historyAtHome(device, event) {
            let again = FollowUp.again(at: verdicts.now, history: history, target: device.target)
            return DeliveryResult(position: Int32(position), outcome: .retryingOtherEnvironment, followUp: again)
        }
        return nil
    }

    /// Whether the delivery's user is held out of the rule.
    private func isHeldOut(_ position: Int) -> Bool { rule.compiled.division?.isHeldOut(who(position)) ?? false }

    /// Returns the key by which a rule's division into variants tells users apart: the user, or the device without one.
    func who(_ position: Int) -> String {
        let id = batch.deviceIDs[position]
        return Division.who(user: fields[id]?.userID, device: id)
    }

    /// Returns the result of a suppressed delivery; one that is held beyond its deadline expires now.
    private func result(of decision: Suppressions.Decision, _ position: Int, _ event: EventRow) -> DeliveryResult {
        switch decision {
        case .drop(let outcome): return DeliveryResult(position: Int32(position), outcome: outcome)
        case .hold(let until, let outcome):
            guard until < verdicts.deadline(of: event).at else {
                return DeliveryResult(
                    position: Int32(position),
                    outcome: outcome == .heldQuiet ? .expiredQuiet : .expiredSnoozed
                )
            }
            let again = FollowUp.again(at: until, history: batch.history.held, target: batch.target)
            return DeliveryResult(position: Int32(position), outcome: outcome, followUp: again)
        }
    }

    /// Returns the history for a retry in the device's current environment; nil if the batch's own target is tried.
    private func historyAtHome(_ device: DeviceRow, _ event: EventRow) -> RetryHistory? {
        // The device was registered for the other environment after planning.
        guard batch.history.marks.contains(.otherEnvironment) else { return batch.history }
        // Its own environment may have rejected an earlier token, so it is tried again, once.
        guard device.registeredAt > event.plannedAt, !batch.history.marks.contains(.registeredLater) else { return nil }
        var history = batch.history
        history.marks.remove(.otherEnvironment)
        history.marks.insert(.registeredLater)
        return history
    }

    /// Decides or adds the single request for an audience that the provider manages, which has no device.
    private mutating func decideNative(
        _ position: Int,
        _ audience: NativeAudience,
        _ event: EventRow
    ) -> DeliveryResult? {
        let context = verdicts.renderContext(of: event)
        do throws(RenderProblem) {
            let native = try audience.target(context)
            let push = try rule.compiled.render(context, to: native, identity: identity)
            guard let address = provider?.address(of: native, as: identity) else {
                return DeliveryResult(position: Int32(position), outcome: .refused)
            }
            add(position, add(push, event), token: native.value, address: address, registeredAt: 0)
            return nil
        } catch {
            note(error, event)
            return DeliveryResult(position: Int32(position), outcome: .refused)
        }
    }

    /// Adds a delivery to those that are sent.
    private mutating func add(
        _ position: Int,
        _ variant: Int32,
        token: String,
        address: PushAddress,
        registeredAt: Microseconds,
        user: String? = nil,
        doubtedBy: Int32? = nil,
        isInstallation: Bool = false
    ) {
        let shared = variants[Int(variant)]
        let id = DeliveryID(
            event: EventID(rawValue: shared.event.id),
            createdAt: shared.event.createdAt.microseconds,
            ruleID: Int64(rule.ruleID),
            deviceID: batch.deviceIDs[position]
        )
        deliveries.append(
            PreparedDelivery(
                position: Int32(position),
                variant: variant,
                token: token,
                address: address,
                deliveryID: shared.content.push.deliveryHeader?.value(id) ?? [],
                registeredAt: registeredAt,
                user: user,
                doubtedBy: doubtedBy,
                isInstallation: isInstallation
            )
        )
    }

    /// Returns the address of a device; nil if it can never receive a push.
    private func address(of device: DeviceRow, token: String) -> PushAddress? {
        let recipient = Recipient(
            token: token,
            p256dh: device.p256dh,
            auth: device.auth,
            isInstallation: device.isInstallation
        )
        return provider?.address(of: recipient, as: identity)
    }
}
