import FanfareTools

extension ToolError {
    /// The same error in the words of the command line: it names the flag of an input, and the command or the flag that
    /// helps.
    var typed: ToolError {
        switch subject {
        case .input(let input): worded("--\(input.rawValue)\(reason.dropFirst(input.name.count))", hint: hint)
        case .missingDevice: worded(reason, hint: "`fanfare devices list` shows their ids.")
        case .missingCampaign: worded(reason, hint: "See `fanfare campaigns list`.")
        case .unconfirmedStart(isCounted: true): worded(reason, hint: "Add --yes if that is meant.")
        case .unconfirmedStart(isCounted: false): worded(reason, hint: "Add --yes to start it all the same.")
        case nil: self
        }
    }

    private func worded(_ reason: String, hint: String) -> ToolError {
        ToolError(kind, reason, at: place, hint: hint, isAbsence: isAbsence)
    }
}
