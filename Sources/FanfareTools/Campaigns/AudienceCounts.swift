package import FanfareCore

/// The number of devices that a rule would reach.
public struct AudienceCounts: Sendable, Equatable {
    /// The devices of one provider.
    package struct Provider: Sendable, Equatable {
        package let name: String
        package let devices: Int64

        package init(name: String, devices: Int64) {
            (self.name, self.devices) = (name, devices)
        }
    }

    /// The providers with at least one device.
    package let providers: [Provider]
    /// The number of users.
    package let users: Int64
    /// Matching devices that are disabled.
    package let disabled: Int64
    /// How many users the rule's query returned; nil if it has none.
    package var named: Int64?
    /// Devices for which the push would be suppressed now.
    package var suppressed = SuppressedCounts()
    /// The suppressions as text for people; empty if all devices get the push at once.
    package var suppressedLines: [String] { suppressed.lines }
    /// Providers whose credentials the configuration lacks.
    package var withoutCredentials: [String] = []

    package init(providers: [Provider], users: Int64, disabled: Int64, named: Int64? = nil) {
        (self.providers, self.users, self.disabled, self.named) = (providers, users, disabled, named)
    }

    /// The total number of devices.
    package var devices: Int64 { providers.reduce(0) { $0 + $1.devices } }

    package var json: JSONValue {
        var byProvider = JSONObject()
        for provider in providers { byProvider[provider.name] = JSONValue(provider.devices) }
        var object = JSONObject()
        object["devices"] = JSONValue(devices)
        object["users"] = JSONValue(users)
        object["named_users"] = named.map { JSONValue($0) }
        object["disabled"] = JSONValue(disabled)
        object["providers"] = .object(byProvider)
        (object["suppressed"], object["later"]) = suppressed.json
        object["without_credentials"] = .array(withoutCredentials.map(JSONValue.string))
        return .object(object)
    }
}
