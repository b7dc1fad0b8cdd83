/// Why a template is refused when it is saved.
public struct TemplateProblem: Error, Equatable, Sendable, CustomStringConvertible {
    /// The tag as written, such as `{{> footer}}`.
    public let tag: String
    /// The error.
    public let reason: String
    /// How to fix it.
    public let hint: String

    /// Tag, reason and hint, as text for people.
    public var description: String { "\(tag) \(reason); \(hint)" }
}

/// Why one delivery (or all deliveries of an event) cannot be rendered; the outcome is `refused`.
///
/// Contains only names and sizes, never a value from a payload or a device.
public enum RenderProblem: Error, Equatable, Sendable {
    /// A required name is missing in the data, or is null.
    case missing(name: String)
    /// The value of a name is an object or array, but text is required.
    case notText(name: String)
    /// A transform does not apply to the value of the name, such as `uppercased` to a number.
    case transform(name: String, transform: String)
    /// The sections of a template repeat too often.
    case tooManySteps(limit: Int)
    /// A text, or the whole message, has too many bytes; rendering stops there.
    case tooLong(limit: Int)
    /// A value that the provider does not accept at this path of the rule.
    case wrongValue(path: String, needed: String)
    /// A topic name that is empty, too long, or has characters other than `[a-zA-Z0-9-_.~%]`.
    case topicName(template: String)
    /// A header value that the provider does not accept.
    case header(name: String, reason: String)
    /// The payload is larger than the provider accepts.
    case tooLarge(bytes: Int, limit: Int)
    /// The rule has nothing to send to this provider.
    case noContent(PushProvider)
    /// The digest key of the event is empty or too long.
    case digestKey(bytes: Int, limit: Int)
    /// The rule's message uses a device or user field, and no device was given.
    case deviceNeeded
    /// The event is replayed for one user, but the provider manages the rule's audience.
    case notForOneUser
    /// The event is replayed for one user, but the rule gathers events into digests.
    case gatheredForOneUser
    /// The event is for recipients' own time, but the rule gathers events into digests.
    case gatheredByZone
}

extension RenderProblem: CustomStringConvertible {
    /// A text for logs and for the outcome's detail; contains no data.
    public var description: String {
        switch self {
        case .missing(let name): "'\(name)' is missing or null"
        case .notText(let name): "'\(name)' is an object or array, text is needed"
        case .transform(let name, let transform): "'\(transform)' does not apply to what '\(name)' is"
        case .tooManySteps(let limit): "a template takes more than \(limit) steps"
        case .tooLong(let limit): "it expands to more than \(limit) bytes"
        case .wrongValue(let path, let needed): "\(path) must be \(needed)"
        case .topicName(let template): "'\(template)' gives no valid topic name"
        case .header(let name, let reason): "header \(name): \(reason)"
        case .tooLarge(let bytes, let limit): "payload of \(bytes) bytes, at most \(limit) are allowed"
        case .noContent(let provider): "the message has nothing for \(provider.rawValue)"
        case .digestKey(let bytes, let limit): "by gives a text of \(bytes) bytes, 1 to \(limit) are allowed"
        case .deviceNeeded: "the message names a device or user field, and no device was given"
        case .notForOneUser: "the provider manages its audience, of which no single user can be picked for a replay"
        case .gatheredForOneUser:
            "it is gathered with others, so no single user can be picked: replay the digest it was in"
        case .gatheredByZone: "it gathers events, which have no time for each recipient"
        }
    }
}
