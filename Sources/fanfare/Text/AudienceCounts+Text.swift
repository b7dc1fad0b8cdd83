import FanfareTools

extension AudienceCounts {
    /// The counts as text for people.
    var text: String {
        let query = named.map { "; users_sql names \(Self.count($0, "user"))" } ?? ""
        let others = (disabled == 0 ? "" : "; disabled: \(disabled)") + query
        guard devices > 0 else { return "no device would get it\(others)" }
        let parts = providers.map { "\($0.name) \($0.devices)" }.joined(separator: ", ")
        let lacking =
            withoutCredentials.isEmpty
            ? "" : "; this configuration has no credentials for \(withoutCredentials.joined(separator: ", "))"
        return
            "\(Self.count(devices, "device")) of \(Self.count(users, "user")) would get it: \(parts)\(others)\(lacking)"
    }

    private static func count(_ number: Int64, _ noun: String) -> String {
        "\(number) \(noun)\(number == 1 ? "" : "s")"
    }
}
