/// What a body says about a delivery that its template does not: known when it is rendered.
package struct DerivedValues: Sendable {
    /// The rendered collapse id.
    package var collapse: String?
    /// The collapse id as a topic (RFC 8030 section 5.4).
    package var collapseTopic: String?
    /// Until when it may be delivered, in seconds since 1970.
    package var expiration: Int64?
    /// How long it may still be delivered, in seconds, at least 0.
    package var secondsLeft: Int64?
    /// What is left of the duration that the message gives itself, as FCM writes it.
    package var givenDuration: String?
}

/// A place in a body for one of the ``DerivedValues``; always a JSON string.
package enum DerivedValue: Sendable {
    case collapse
    case collapseTopic
    /// Seconds since 1970.
    case expiration
    /// Seconds, at most so many.
    case secondsLeft(atMost: Int64)
    /// Seconds with their unit, `3600s`, at most so many.
    case duration(atMost: Int64)
    /// What is left of the message's own duration.
    case givenDuration

    /// The text that stands there; empty where the value is not known, which templates see to.
    package func text(_ values: DerivedValues) -> String {
        switch self {
        case .collapse: values.collapse ?? ""
        case .collapseTopic: values.collapseTopic ?? ""
        case .expiration: values.expiration.map { String($0) } ?? ""
        case .secondsLeft(let limit): values.secondsLeft.map { String(min($0, limit)) } ?? ""
        case .duration(let limit): values.secondsLeft.map { "\(min($0, limit))s" } ?? ""
        case .givenDuration: values.givenDuration ?? ""
        }
    }
}
