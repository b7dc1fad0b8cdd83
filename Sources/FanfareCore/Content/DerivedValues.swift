/// What a body says about a delivery that its template does not: known when it is rendered.
struct DerivedValues: Sendable {
    /// The rendered collapse id.
    var collapse: String?
    /// The collapse id as a Web Push topic.
    var collapseTopic: String?
    /// Until when it may be delivered, in seconds since 1970.
    var expiration: Int64?
    /// How long it may still be delivered, in seconds, at least 0.
    var secondsLeft: Int64?
    /// What is left of the duration that the message gives itself, as FCM writes it.
    var givenDuration: String?
}

/// A place in a body for one of the ``DerivedValues``; always a JSON string.
enum DerivedValue: Sendable {
    case collapse
    case collapseTopic
    /// Seconds since 1970.
    case expiration
    /// Seconds, as Web Push writes them.
    case secondsLeft
    /// Seconds with their unit, as FCM writes them.
    case duration
    /// What is left of the message's own duration.
    case givenDuration

    /// The text that stands there; empty where the value is not known, which templates see to.
    func text(_ values: DerivedValues) -> String {
        switch self {
        case .collapse: values.collapse ?? ""
        case .collapseTopic: values.collapseTopic ?? ""
        case .expiration: values.expiration.map { String($0) } ?? ""
        case .secondsLeft: values.secondsLeft.map { String(min($0, WebPushHeaders.timeToLiveLimit)) } ?? ""
        case .duration: values.secondsLeft.map { "\(min($0, FCMSchema.timeToLiveLimit))s" } ?? ""
        case .givenDuration: values.givenDuration ?? ""
        }
    }
}
