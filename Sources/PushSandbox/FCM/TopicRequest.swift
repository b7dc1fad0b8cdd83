/// A request to FCM's topic API, by its path and query; reference: Firebase REST reference,
/// `projects.registrations.topicSubscriptions`.
struct TopicRequest {
    /// What the request does.
    enum Operation: String {
        case create, get, list, update, delete

        /// The permission that the service account needs.
        var permission: String { "cloudmessaging.topicSubscriptions.\(rawValue)" }
    }

    /// The project, as the path has it.
    let project: String
    /// The token or installation id; empty if its percent-encoding is malformed.
    let registration: String
    /// The topic of the path; nil if the path names the collection.
    let pathTopic: String?
    /// The members of the query, without their percent-encoding; malformed ones are missing.
    let query: [String: String]

    /// Returns whether a path belongs to the topic API.
    static func serves(_ path: String) -> Bool {
        guard path.hasPrefix("/v1/projects/") else { return false }
        let parts = path.prefix { $0 != "?" }.split(separator: "/", omittingEmptySubsequences: false)
        return parts.count > 4 && parts[4] == "registrations"
    }

    /// Reads a path with its query; nil if it is another resource.
    init?(_ path: String) {
        let parts = path.prefix { $0 != "?" }.split(separator: "/", omittingEmptySubsequences: false)
        guard (7...8).contains(parts.count), parts[1] == "v1", parts[2] == "projects", parts[4] == "registrations",
            parts[6] == "topicSubscriptions", !parts[5].isEmpty, parts.last?.isEmpty == false
        else { return nil }
        project = String(parts[3])
        registration = Self.decoded(parts[5]) ?? ""
        pathTopic = parts.count == 8 ? Self.decoded(parts[7]) ?? "" : nil
        var query: [String: String] = [:]
        for member in path.drop(while: { $0 != "?" }).dropFirst().split(separator: "&") {
            let pair = member.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Self.decoded(pair[0]), let value = Self.decoded(pair.count > 1 ? pair[1] : "") else {
                continue
            }
            query[name] = value
        }
        self.query = query
    }

    /// Returns what a method does with the resource; nil if it does nothing.
    func operation(_ method: String) -> Operation? {
        switch (method, pathTopic == nil) {
        case ("POST", true): .create
        case ("GET", true): .list
        case ("GET", false): .get
        case ("PATCH", false): .update
        case ("DELETE", false): .delete
        default: nil
        }
    }

    /// The topic of the path, or of the query of a new subscription; empty if there is none.
    var topic: String { pathTopic ?? value("topic_name", "topicName") ?? "" }

    /// Whether a missing subscription is no error.
    var allowsMissing: Bool { value("allow_missing", "allowMissing") == "true" }

    /// Returns a member of the query, which Google accepts in both spellings.
    func value(_ name: String, _ otherSpelling: String) -> String? { query[name] ?? query[otherSpelling] }

    /// Removes percent-encoding; nil if it is malformed, or not UTF-8.
    static func decoded(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        Character(Unicode.Scalar(byte)).hexDigitValue.map(UInt8.init)
    }
}
