internal import FanfareConfiguration

/// Checks that an app has either all keys of a signing key (file and ids) or a certificate.
struct APNsCredentialsCheck {
    private static let signingKey = ["key_file", "key_id", "team_id"]

    /// The path of the block: `apps`, the app's name, `apns`.
    let section: [String]
    /// The place of the block in the configuration.
    let origin: ConfigurationOrigin

    /// Reports keys that exclude each other, and missing keys.
    ///
    /// - Parameter reader: the configuration that was read.
    func check(_ reader: inout ConfigurationReader) {
        let given = Self.signingKey.filter { reader.settings[section + [$0]] != nil }
        let certificate = reader.settings[section + ["certificate_file"]]
        if let certificate {
            if !given.isEmpty {
                let reason = "cannot stand beside \(Self.list(given)): APNs takes a certificate or a signing key"
                report("certificate_file", certificate.origin, reason, &reader)
            }
            return
        }
        if let password = reader.settings[section + ["certificate_password_file"]] {
            report("certificate_password_file", password.origin, "has no effect without `certificate_file`", &reader)
        }
        if given.isEmpty {
            let reason = "has no credentials: set \(Self.list(Self.signingKey)), or `certificate_file`"
            reader.report(origin, section.joined(separator: "."), reason)
        } else {
            for name in Self.signingKey where !given.contains(name) {
                report(name, origin, "is required beside \(Self.list(given))", &reader)
            }
        }
    }

    private func report(
        _ name: String,
        _ origin: ConfigurationOrigin,
        _ reason: String,
        _ reader: inout ConfigurationReader
    ) {
        reader.report(origin, (section + [name]).joined(separator: "."), reason)
    }

    /// Returns the names as "`a`, `b` and `c`".
    private static func list(_ names: [String]) -> String {
        let quoted = names.map { "`\($0)`" }
        guard let last = quoted.last, quoted.count > 1 else { return quoted.joined() }
        return quoted.dropLast().joined(separator: ", ") + " and " + last
    }
}
