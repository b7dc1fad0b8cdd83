/// The options of a rule whose pushes devices report on.
public struct ReportDefinition: Equatable, Sendable {
    /// Whether its pushes have a handle; nil for the app's policy to decide.
    public let isOn: Bool?
    /// The type of the event that an action emits, if any.
    public let asEvent: String?
    /// Whether the texts that users type are stored, and emitted.
    public let keepsText: Bool

    /// Reads the options of a rule that ``DefinitionObject/rule`` allows.
    ///
    /// - Parameters:
    ///   - rule: the rule.
    ///   - audience: its audience.
    /// - Throws: `RuleProblem` if devices cannot report on its pushes.
    init(_ rule: JSONObject, _ audience: AudienceDefinition) throws(RuleProblem) {
        asEvent = rule.text("as_event")
        keepsText = rule["report_text"]?.boolValue ?? false
        isOn = rule["report"]?.boolValue
        for key in ["as_event", "report_text"] where rule[key] != nil && isOn != true {
            throw RuleProblem(path: key, reason: "needs report: true", hint: "without it, devices report nothing")
        }
        guard isOn == true, let provider = audience.selection.provider else { return }
        throw RuleProblem(
            path: "report",
            reason: "needs the devices that were reached, which \(provider.rawValue) does not tell",
            hint: "remove it, or use users:, tokens:, topic: or condition:"
        )
    }

    /// The keys in the form of a rule.
    var json: JSONObject {
        var object = JSONObject()
        object["report"] = isOn.map(JSONValue.bool)
        object["as_event"] = asEvent.map(JSONValue.string)
        if keepsText { object["report_text"] = true }
        return object
    }
}
