public import FanfareCore

extension CompiledRule {
    /// Returns the key under which newer events supersede older ones.
    ///
    /// Events for different users or topics never share a key.
    ///
    /// - Parameters:
    ///   - ruleID: the rule's id in the database.
    ///   - context: the event.
    /// - Returns: nil unless the rule supersedes or keeps only the latest per collapse id after an outage.
    /// - Throws: `RenderProblem` if a value for `to` or `collapse` is missing.
    public func collapseKey(ruleID: Int64, _ context: RenderContext) throws(RenderProblem) -> CollapseKey? {
        guard definition.dropsOlder, let collapse, let audience = try audience.renderedText(context) else { return nil }
        let id = try collapse.text(context)
        return id.isEmpty ? nil : CollapseKey(ruleID: ruleID, audience: audience, collapse: id)
    }

    /// Returns the collapse id that the pushes of an event were sent with.
    ///
    /// - Parameter context: the event.
    /// - Returns: nil if the rule has none, or the event's is empty.
    /// - Throws: `RenderProblem` if a value is missing.
    package func collapseID(_ context: RenderContext) throws(RenderProblem) -> CollapseID.Sent? {
        guard let id = try collapse?.text(context), let sent = CollapseID.sent(id, app: definition.app) else {
            return nil
        }
        return CollapseID.Sent(id: sent, topic: WebPushTopic.hash(collapse: id, app: definition.app))
    }

    /// Compiles and checks the template of a rule's collapse id.
    static func collapse(_ definition: RuleDefinition) throws(RuleProblem) -> TextTemplate? {
        guard let source = definition.collapse else { return nil }
        let template = try TextTemplate(source, path: "collapse")
        guard !template.dependsOnDevice, !(RuleNames.isOfCampaign(definition.name) && template.usesVariables) else {
            throw RuleProblem(path: "collapse", reason: "depends on a device", hint: "use names of the payload only")
        }
        let fault = template.literal.map { CollapseID.fault(in: $0) }
        if let reason = fault ?? CollapseID.fault(inPart: template.fixedText) {
            let hint = "use up to \(CollapseID.limit) printable ASCII characters"
            throw RuleProblem(path: "collapse", reason: reason, hint: hint)
        }
        return template
    }
}
