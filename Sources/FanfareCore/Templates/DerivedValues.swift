/// Values of a body that Fanfare computes for each delivery when it renders.
package struct DerivedValues: Sendable {
    /// The rendered collapse id.
    package var collapse: String?
    /// The collapse id as a topic (RFC 8030 section 5.4).
    package var collapseTopic: String?
    /// The end of the delivery's lifetime, in seconds since 1970.
    package var expiration: Int64?
    /// The rest of the delivery's lifetime in seconds, at least 0.
    package var secondsLeft: Int64?
    /// The rest of the message's own duration, in FCM's form.
    package var givenDuration: String?
}

/// A placeholder in a body for one of the ``DerivedValues``; always a JSON string.
package enum DerivedValue: Sendable {
    case collapse
    case collapseTopic
    /// Seconds since 1970.
    case expiration
    /// Seconds, up to a maximum.
    case secondsLeft(atMost: Int64)
    /// Seconds with their unit, `3600s`, up to a maximum.
    case duration(atMost: Int64)
    /// The rest of the message's own duration.
    case givenDuration
    /// The handle for reports. A member that has only this value is left out if there is no handle.
    case report

    /// Returns the value as text; empty if it is unknown, which the templates rule out.
    package func text(_ values: DerivedValues) -> String {
        switch self {
        case .collapse: values.collapse ?? ""
        case .collapseTopic: values.collapseTopic ?? ""
        case .expiration: values.expiration.map { String($0) } ?? ""
        case .secondsLeft(let limit): values.secondsLeft.map { String(min($0, limit)) } ?? ""
        case .duration(let limit): values.secondsLeft.map { "\(min($0, limit))s" } ?? ""
        case .givenDuration: values.givenDuration ?? ""
        case .report: ""
        }
    }
}
