extension Configuration {
    /// Returns the keys that a reload changes.
    ///
    /// Files named in the configuration may have new content under the old name; that is not detected here.
    ///
    /// - Parameters:
    ///   - old: the configuration in force.
    ///   - schema: the known keys.
    /// - Returns: one entry per key whose value differs, in the order of the reference; values without secrets.
    package func changes(from old: Configuration, _ schema: ConfigurationSchema) -> [ConfigurationChange] {
        let names = [
            "apps": Set(apps.keys).union(old.apps.keys).sorted(),
            "feedback": Set(feedback.keys).union(old.feedback.keys).sorted(),
        ]
        return schema.keys.flatMap { key in
            (key.path.contains(ConfigurationKey.anyName) ? names[key.path[0]] ?? [] : [""]).compactMap { name in
                guard key.differs(old, self, name) else { return nil }
                let path = key.path.map { $0 == ConfigurationKey.anyName ? name : $0 }
                return ConfigurationChange(
                    key: path.joined(separator: "."),
                    from: key.show(old, name),
                    to: key.show(self, name),
                    needsRestart: key.change == .restart
                )
            }
        }
    }
}

extension Configuration {
    /// Copies the keys that need no restart.
    ///
    /// - Parameter fresh: the configuration to copy from.
    package mutating func takeLive(from fresh: Configuration) {
        apps = fresh.apps
        retry = fresh.retry
        retention = fresh.retention
        feedback = fresh.feedback
        api.phoneTopics = fresh.api.phoneTopics
        api.origins = fresh.api.origins
        log = fresh.log
    }
}

/// One key whose value a reload changes.
public struct ConfigurationChange: Equatable, Sendable, CustomStringConvertible {
    /// Dotted path.
    public let key: String
    /// The value in force, without secrets; nil if there is none.
    public let from: String?
    /// The new value, without secrets; nil if there is none.
    public let to: String?
    /// Whether the new value takes effect only after a restart.
    public let needsRestart: Bool

    /// `log.level: info → debug`.
    public var description: String {
        "\(key): \(from ?? "none") → \(to ?? "none")\(needsRestart ? " (needs a restart)" : "")"
    }
}

extension ConfigurationSchema {
    /// All keys outside the providers' blocks as a Markdown list, "`key` (type, required/optional, default: x, range):
    /// meaning", for the documentation.
    package var reference: String {
        (Configuration.keysBeforeApps + Configuration.keysOfApps + Configuration.keysBehindApps).map(\.reference)
            .joined(separator: "\n")
    }
}

extension ConfigurationBlock {
    /// The block's keys as a Markdown list, in the format of ``ConfigurationSchema/reference``.
    package var reference: String { keys.map(\.reference).joined(separator: "\n") }
}

extension ConfigurationKey {
    /// The key in the fixed format, as one line of a Markdown list.
    var reference: String {
        var facts = [type, presence == .required ? "required" : "optional"]
        if presence == .optional { facts.append("default: \(standard ?? "none")") }
        if let range { facts.append(range) }
        let restart = change == .restart ? " A change needs a restart." : ""
        return "* `\(name)` (\(facts.joined(separator: ", "))): \(meaning)\(restart)"
    }
}
