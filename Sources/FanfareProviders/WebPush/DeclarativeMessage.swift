internal import FanfareCore

/// Turns a body for browsers into a Declarative Web Push message, which Safari shows without the service worker.
///
/// Safari treats a message with one wrong member as an ordinary push, so each member that it reads is checked: literals
/// when the rule is saved, templates when they are rendered. Other browsers' service workers read `notification` and
/// `data` as in every other push.
struct DeclarativeMessage {
    /// The value of the first member `web_push`, by which browsers recognize the form: RFC 8030.
    static let mark: JSONValue = 8030

    /// The members of `notification` that WebKit reads, and what it accepts.
    private static let checks: [String: ContentCheck] = [
        "title": .form(.filled), "navigate": .form(.address), "icon": .form(.address), "silent": .flag,
        "requireInteraction": .flag, "mutable": .flag, "app_badge": .count(isText: true),
    ]
    /// The other members that WebKit reads; their type is checked in every message.
    private static let texts = ["body", "lang", "dir", "tag"]
    private static let actionKeys = ["action", "title", "navigate"]

    private let parts: [MessagePart]

    /// Creates a reader of a message, and of the parts that are merged over it.
    init(_ parts: [MessagePart]) {
        self.parts = parts
    }

    /// Whether the merged message asks for the form.
    var isAsked: Bool {
        let message = parts.dropFirst().reduce(parts[0].node) { $0.mergePatched(with: $1.node) }
        return message[["webpush", "declarative"]]?.literalValue == true
    }

    /// The error of a message that asks for the form and shows nothing.
    var nothingShown: RuleProblem {
        RuleProblem(
            path: path(to: ["webpush", "declarative"]),
            reason: "is true, but the message shows nothing in browsers",
            hint: "add notification.title, or leave declarative out"
        )
    }

    /// Returns the body in the form.
    ///
    /// - Parameter body: the merged body: `notification`, `data`, `fcm_options`.
    /// - Returns: the body with `web_push` before, and `app_badge` and `mutable` after the others.
    /// - Throws: `RuleProblem` if Safari would not show the message.
    func body(_ body: ContentNode) throws(RuleProblem) -> ContentNode {
        guard let given = body["notification"]?.mergeMembers, !given.isEmpty else { throw nothingShown }
        var shown: [(key: String, value: ContentNode)] = []
        for (key, value) in given { shown.append((key, try member(key, value))) }
        let notification = ContentNode.object(shown)
        guard notification["title"] != nil else {
            let hint = "Safari needs a title; add notification.title, or leave declarative out"
            throw RuleProblem(path: lastPath + ".notification.title", reason: "is missing", hint: hint)
        }
        if notification["navigate"] == nil { shown.append(("navigate", try link(of: body))) }
        // Safari's worker is not asked, so that it needs the data beside the texts.
        if notification["data"] == nil, let data = body["data"] { shown.append(("data", data)) }
        var members = [(key: "web_push", value: ContentNode.literal(Self.mark)), ("notification", .object(shown))]
        members += body.mergeMembers?.filter { $0.key != "notification" } ?? []
        // The draft of the W3C has both at the top, where WebKit does not read them.
        if let badge = body[["notification", "app_badge"]] {
            let place = notificationPath(to: "app_badge")
            members.append(("app_badge", try Self.checked(badge, .count(isText: false), at: place)))
        }
        if let mutable = notification["mutable"] { members.append(("mutable", mutable)) }
        return .object(members)
    }

    /// Returns the places of a badge count, beside the one in `data`.
    ///
    /// - Parameter body: the merged body, before it has the form.
    /// - Returns: the places.
    static func badgePlaces(_ body: ContentNode) -> [BadgedBody.Place] {
        let badges = [
            BadgedBody.Place(path: ["notification", "app_badge"], isText: true), BadgedBody.Place(path: ["app_badge"]),
        ]
        // A rule's own `notification.data` stays as it is; otherwise it repeats `data`.
        guard body[["notification", "data"]] == nil else { return badges }
        return badges + [BadgedBody.Place(path: ["notification", "data", "badge"], isText: true)]
    }

    private func member(_ key: String, _ value: ContentNode) throws(RuleProblem) -> ContentNode {
        let place = notificationPath(to: key)
        if let check = Self.checks[key] { return try Self.checked(value, check, at: place) }
        if key == "actions" { return try actions(value, at: place) }
        guard Self.texts.contains(key), value.removesMember else { return value }
        throw RuleProblem(path: place, reason: "is null", hint: "leave it out: Safari would not show the message")
    }

    private func link(of body: ContentNode) throws(RuleProblem) -> ContentNode {
        guard let link = body[["fcm_options", "link"]] else {
            throw RuleProblem(
                path: lastPath + ".webpush.fcm_options.link",
                reason: "is missing",
                hint: "Safari needs the URL that a click opens; add it, or webpush.notification.navigate"
            )
        }
        return try Self.checked(link, .form(.address), at: path(to: ["webpush", "fcm_options", "link"]))
    }

    private func actions(_ value: ContentNode, at path: String) throws(RuleProblem) -> ContentNode {
        guard case .array(let elements) = value else {
            throw RuleProblem(path: path, reason: "is not a list", hint: "write a list of actions")
        }
        var actions: [ContentNode] = []
        for (index, element) in elements.enumerated() {
            let place = "\(path)[\(index)]"
            guard let members = element.mergeMembers else {
                throw RuleProblem(path: place, reason: "is not an object", hint: "write action, title and navigate")
            }
            for key in Self.actionKeys where element[key] == nil {
                let hint = "Safari needs action, title and navigate in each action"
                throw RuleProblem(path: place, reason: "has no \(key)", hint: hint)
            }
            var action: [(key: String, value: ContentNode)] = []
            for (key, value) in members {
                let check: ContentCheck = .form(key == "navigate" ? .address : .any)
                let isRead = Self.actionKeys.contains(key)
                action.append((key, isRead ? try Self.checked(value, check, at: "\(place).\(key)") : value))
            }
            actions.append(.object(action))
        }
        return .array(actions)
    }

    /// Returns a literal that WebKit accepts, or a template whose result is checked.
    private static func checked(
        _ node: ContentNode,
        _ check: ContentCheck,
        at path: String
    ) throws(RuleProblem) -> ContentNode {
        let reason: String
        switch node {
        case .text(let template), .value(let template):
            return .checked(CheckedTemplate(template: template, check: check, path: path))
        case .checked(let given):
            return .checked(CheckedTemplate(template: given.template, check: check, path: path))
        case .literal(let literal):
            if check.takes(literal), let value = check.value(literal) { return .literal(value) }
            reason = Self.reason(literal, check)
        case .derived, .badge, .array: reason = "is a list"
        case .object: reason = "is an object"
        }
        throw RuleProblem(path: path, reason: reason, hint: "it must be \(check.needed), or Safari shows nothing of it")
    }

    private static func reason(_ literal: JSONValue, _ check: ContentCheck) -> String {
        if case .form(let form) = check, literal.stringValue != nil { return "is \(form.fault)" }
        if let number = literal.numberValue { return "is \(number.literal.prefix(20))" }
        return "is \(literal.kindName)"
    }
}

extension DeclarativeMessage {
    /// The path of the last part, which lacks what the others have not given either.
    private var lastPath: String { parts[parts.count - 1].path }

    /// Returns the path of a member of `notification`, in the block for browsers or in the common one.
    private func notificationPath(to key: String) -> String {
        for part in parts.reversed() {
            for place in [["webpush", "notification", key], ["notification", key]] where part.node[place] != nil {
                return ([part.path] + place).joined(separator: ".")
            }
        }
        return "\(lastPath).webpush.notification.\(key)"
    }

    /// Returns the path of a member, in the last part that has it.
    private func path(to place: [String]) -> String {
        let part = parts.last { $0.node[place] != nil }
        return ([part?.path ?? lastPath] + place).joined(separator: ".")
    }
}
