import FanfareRecords
import FanfareTools

extension MigrationPlan {
    /// The plan as text for people.
    ///
    /// - Parameter isDone: whether the plan was carried out.
    /// - Returns: one line per step.
    func text(isDone: Bool) -> String {
        var lines: [String] = []
        if !roles.isEmpty {
            lines.append("\(isDone ? "created" : "would create") the roles \(roles.joined(separator: ", "))")
        }
        let old = from.map(String.init) ?? (isHidden ? "unknown" : "none")
        let versions = from == to ? "schema version \(to), up to date" : "schema version \(old) → \(to)"
        let again = from == to ? " again" : ""
        lines.append("\(isDone ? "loaded" : "would load") schema.sql\(again): \(versions)")
        if adopts {
            let owner = installation ?? "(unnamed)"
            lines.append("\(isDone ? "claimed" : "would claim") the database for installation \(owner)")
        }
        if let warning { lines.append("warning: \(warning)") }
        return lines.joined(separator: "\n")
    }
}

extension AdoptionChange {
    /// The change as text for people.
    ///
    /// - Parameter isDone: whether the change was carried out.
    /// - Returns: the old identity and the new one.
    func text(isDone: Bool) -> String {
        "was: \(old?.text ?? "not adopted")\n\(isDone ? "is:  " : "will be: ")\(new.text)"
    }
}

extension DatabaseIdentity {
    /// The identity on one line.
    var text: String { "\(name ?? "(unnamed)"), cluster \(systemIdentifier), database \(databaseOID)" }
}
