internal import FanfareCore
internal import FanfareProviders
internal import FanfareSending
internal import FanfareStages
internal import FanfareStore

/// Renders the pushes of a batch, each once for all deliveries that share it.
extension BatchDraft {
    /// The properties of a delivery that determine its push.
    struct VariantKey: Hashable {
        let eventID: Int64
        let locale: String?
        let kind: String
        /// The device if each gets its own message; else the index of the rule's variant, 0 without variants.
        let reader: Int64
        /// The user's badge count; users with the same count share a rendered push.
        let badge: Int64?
    }

    /// What a handle depends on in one batch.
    struct HandleKey: Hashable {
        let eventID: Int64
        /// The index of the rule's variant.
        let edition: Int
    }

    /// Returns the index of a delivery's push in ``variants``; nil if it cannot be rendered.
    mutating func variant(of event: EventRow, for device: DeviceRow, at position: Int) -> Int32? {
        let id = batch.deviceIDs[position]
        let edition = rule.compiled.division?.variant(of: who(position)) ?? 0
        let key = VariantKey(
            eventID: event.id,
            locale: rule.compiled.matchedLocale(for: device.locale),
            kind: device.kind,
            reader: rule.compiled.needsDevice ? id : Int64(edition),
            badge: fields[id]?.userID.flatMap { badges[ExactText($0)] }
        )
        if let lastRendered, lastRendered.key == key { return lastRendered.variant }
        let variant: Int32?
        if let known = rendered[key] {
            variant = known
        } else {
            variant = render(event, as: key, edition: edition, at: position)
            rendered.updateValue(variant, forKey: key)
        }
        lastRendered = (key, variant)
        return variant
    }

    private mutating func render(_ event: EventRow, as key: VariantKey, edition: Int, at position: Int) -> Int32? {
        var device = rule.compiled.needsDevice ? fields[batch.deviceIDs[position]] : nil
        if let variables = variables[position] { device?.variables = variables }
        var context = verdicts.renderContext(of: event)
        context.report = handle(of: event, edition: edition)
        do throws(RenderProblem) {
            let push = try rule.compiled.render(
                context,
                provider: PushProvider(rawValue: target.provider),
                kind: DeviceKind(rawValue: key.kind) ?? .device,
                locale: key.locale,
                identity: identity,
                device: device,
                badge: key.badge,
                variant: edition
            )
            return add(push, event)
        } catch {
            note(error, event)
            return nil
        }
    }

    /// Returns the handle of a push, which all devices of a variant share, also if each has its own message.
    private mutating func handle(of event: EventRow, edition: Int) -> String? {
        guard let reportKey else { return nil }
        let key = HandleKey(eventID: event.id, edition: edition)
        if let known = handles[key] { return known }
        let handle = reportKey.handle(event: event.id, ruleVersion: batch.ruleVersion, variant: edition)
        handles[key] = handle
        return handle
    }

    /// Adds a rendered push.
    ///
    /// - Returns: its index.
    mutating func add(_ push: RenderedPush, _ event: EventRow) -> Int32 {
        variants.append(
            PushVariant(
                event: event,
                content: PushContent(push, trace: event.trace),
                deadline: verdicts.deadline(of: event, messageEndsAt: push.endsAt).binding(batch.history)
            )
        )
        return Int32(variants.count - 1)
    }

    /// Keeps the reason why an event's deliveries are refused, and logs it.
    mutating func note(_ problem: RenderProblem, _ event: EventRow) {
        refusals[event.id] = rule.refusal(because: "\(problem)")
        rule.tellRefusal(of: event, to: target, because: problem, in: context)
    }
}
