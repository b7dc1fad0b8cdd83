/// A property that a column of an imported file can give.
enum ImportField: Int, CaseIterable, Sendable {
    case token, provider, userID, kind, address, permission, presents, environment, locale, timeZone, attributes,
        p256dh, auth, topics,
        registeredAt,
        disabledAt, disabledReason, isDisabled, isEnabled, deviceType, notificationTypes, subscription

    /// The name in `--map`.
    var name: String { columns[0] }

    /// The column names recognized by default, the most trusted first; case, spaces and punctuation are ignored.
    var columns: [String] {
        switch self {
        case .token:
            [
                "token", "device_token", "push_token", "fcm_token", "registration_token", "registration_id",
                "apns_token",
                "gcm_token", "identifier", "endpoint", "fid", "installation_id",
            ]
        case .provider: ["provider", "platform", "service", "os", "type"]
        case .userID:
            ["user_id", "external_user_id", "external_id", "user", "uid", "customer_id", "account_id", "member_id"]
        case .kind: ["kind", "token_kind"]
        case .address: ["address", "address_kind"]
        case .permission: ["permission", "notification_permission", "authorization_status"]
        case .presents: ["presents"]
        case .environment: ["environment", "apns_environment", "env"]
        case .locale: ["locale", "language", "lang", "language_code"]
        case .timeZone: ["time_zone", "timezone_id", "timezone", "tz"]
        case .attributes: ["attributes", "tags", "properties", "custom_attributes"]
        case .p256dh: ["p256dh", "web_p256", "keys.p256dh", "p256dh_key"]
        case .auth: ["auth", "web_auth", "keys.auth", "auth_key"]
        case .topics: ["topics", "topic"]
        case .registeredAt:
            [
                "registered_at", "last_active", "last_active_at", "last_seen", "last_seen_at", "last_used_at",
                "updated_at",
                "created_at",
            ]
        case .disabledAt: ["disabled_at", "unsubscribed_at", "invalidated_at", "deleted_at"]
        case .disabledReason: ["disabled_reason"]
        case .isDisabled: ["disabled", "invalid_identifier", "unsubscribed", "is_disabled", "invalid"]
        case .isEnabled: ["enabled", "is_enabled", "active", "is_active", "subscribed"]
        case .deviceType: ["device_type"]
        case .notificationTypes: ["notification_types"]
        // The form of PushSubscription.toJSON() in browsers.
        case .subscription: ["subscription", "push_subscription"]
        }
    }

    /// The column names of each field, for the documentation.
    static var reference: String {
        let rows = allCases.map { field in
            "| `\(field.name)` | \(field.columns.map { "`\($0)`" }.joined(separator: ", ")) |"
        }
        return (["| field | columns |", "|---|---|"] + rows).joined(separator: "\n")
    }

    /// Normalizes a column's name for comparison.
    ///
    /// - Parameter column: the name.
    /// - Returns: its letters and digits in lower case.
    static func key(_ column: String) -> String {
        String(column.lowercased().unicodeScalars.filter { $0.properties.isAlphabetic || ("0"..."9").contains($0) })
    }
}
