/// Maps other systems' provider names to Fanfare's providers.
enum ImportProvider {
    /// The provider that a row names.
    enum Verdict: Equatable {
        case provider(String)
        /// A channel that Fanfare does not support.
        case foreign(String)
        case unknown
    }

    /// Looks up a provider's name.
    ///
    /// - Parameters:
    ///   - text: the row's value: a provider of Fanfare, a system, a kind of browser, or OneSignal's subscription type.
    ///   - isFirebase: whether the tokens are FCM registration tokens, for any kind of device.
    /// - Returns: the provider or the reason to skip the row.
    static func named(_ text: String, isFirebase: Bool) -> Verdict {
        switch ImportField.key(text) {
        case "webhook" where !isFirebase: return .provider("webhook")
        case "webpush", "browser", "push", "chromepush", "firefoxpush", "chrome", "firefox", "edge", "vapid",
            "unifiedpush"
        where !isFirebase:
            return .provider("webpush")
        case "apns", "apn", "apple", "ios", "iphone", "ipad", "iphoneos", "ipados", "macos", "watchos", "tvos",
            "visionos",
            "iospush", "macospush":
            return .provider(isFirebase ? "fcm" : "apns")
        case "fcm", "gcm", "firebase", "google", "android", "androidpush": return .provider("fcm")
        case "web", "safaripush", "safari", "chromeextensionpush", "windowspush", "safarilegacypush":
            return .provider(isFirebase ? "fcm" : "webpush")
        case "email": return .foreign("email")
        case "sms", "phone": return .foreign("SMS")
        case "huawei", "huaweipush", "hms": return .foreign("Huawei")
        case "fireos", "fireospush", "adm", "amazon": return .foreign("Amazon")
        default: return .unknown
        }
    }

    /// Looks up OneSignal's channel number.
    ///
    /// - Parameters:
    ///   - number: `device_type`.
    ///   - hasEndpoint: whether the token is an https URL, as it is for every browser that can be sent to.
    /// - Returns: the provider or the reason to skip the row.
    static func oneSignal(_ number: Int, hasEndpoint: Bool) -> Verdict {
        switch number {
        case 0, 9: .provider("apns")
        case 1: .provider("fcm")
        case 5, 8, 17: .provider("webpush")
        case 2: .foreign("Amazon")
        case 4: .foreign("Chrome apps")
        case 3, 6, 12: hasEndpoint ? .provider("webpush") : .foreign("Windows")
        case 7: hasEndpoint ? .provider("webpush") : .foreign("Safari before version 16")
        case 10: .foreign("Alexa")
        case 11: .foreign("email")
        case 13: .foreign("Huawei")
        case 14: .foreign("SMS")
        default: .unknown
        }
    }
}
