internal import FanfareCore
internal import Threading

/// The templates of one message for FCM: with and without collapse id and deadline.
struct FCMForms: Sendable {
    /// The two templates of a body: with and without a deadline.
    private struct Form: Sendable {
        let withDeadline: BadgedBody
        let withoutDeadline: BadgedBody

        init(_ message: ContentNode, badgeAt badges: [BadgedBody.Place]) {
            withDeadline = BadgedBody(FCMForms.expiring(message), badgeAt: badges)
            withoutDeadline = BadgedBody(message, badgeAt: badges)
        }
    }

    private let plain: Form
    /// The form with a collapse id; nil for a rule without one.
    private let collapsing: Form?
    /// The message's own `ttl` for Android; the bodies have a placeholder for the remaining time.
    private let timeToLive: ContentNode?

    /// Makes the templates of a message.
    ///
    /// - Parameters:
    ///   - message: the merged message.
    ///   - rule: the rule, for its options outside the message.
    init(_ message: ContentNode, rule: RuleDefinition) {
        let place = [AndroidBlock(of: message).rawValue, "ttl"]
        timeToLive = message[place].flatMap { $0.removesMember ? nil : $0 }
        let counting = (timeToLive == nil ? message : message.setting(place[...], to: .derived(.givenDuration)))
            .reporting(at: ["data"], of: rule)
        let badges = rule.badgeSQL == nil ? [] : rule.isRetraction ? Self.silentBadges : Self.badgePlaces(message)
        plain = Form(counting, badgeAt: badges)
        collapsing = rule.collapse == nil ? nil : Form(Self.collapsing(counting), badgeAt: badges)
    }

    /// Returns the template for a scope.
    func template(in scope: TemplateScope) -> BadgedBody {
        let form = scope.derived.collapse == nil ? plain : collapsing ?? plain
        return scope.derived.secondsLeft == nil ? form.withoutDeadline : form.withDeadline
    }

    /// Returns the message's own `ttl` as the first attempt sends it; nil if it has none.
    func givenDuration(_ scope: TemplateScope) throws(RenderProblem) -> String? {
        switch timeToLive {
        case .literal(let value)?: return value.stringValue
        case .text(let template)?, .value(let template)?: return try template.text(in: scope)
        case .checked(let checked)?: return try checked.value(in: scope).stringValue
        default: return nil
        }
    }

    /// Returns the places of the badge count: only where something is shown, because a badge would make a data message
    /// visible.
    private static func badgePlaces(_ message: ContentNode) -> [BadgedBody.Place] {
        let isShown = message["notification"]?.mergeMembers?.isEmpty == false
        let aps = message[["apns", "payload", "aps"]]
        let block = AndroidBlock(of: message)
        let android = message[block.notification]
        var places: [BadgedBody.Place] = []
        if isShown || aps.map(APNsContent.hasVisiblePart) ?? false {
            places.append(BadgedBody.Place(path: ["apns", "payload", "aps", "badge"]))
        }
        if isShown || android?.mergeMembers?.isEmpty == false, !block.isSync(message) {
            places.append(BadgedBody.Place(path: block.notification + ["notification_count"]))
        }
        return places
    }

    /// The places of the badge count in a push that takes something back, for the app to read.
    private static let silentBadges = [
        BadgedBody.Place(path: ["data", "badge"], isText: true), BadgedBody.Place(path: ["apns", "payload", "badge"]),
    ]

    private static func collapsing(_ message: ContentNode) -> ContentNode {
        message.settingUnlessGiven([AndroidBlock(of: message).rawValue, "collapse_key"], to: .derived(.collapse))
            .settingUnlessGiven(["apns", "headers", "apns-collapse-id"], to: .derived(.collapse))
            .settingUnlessGiven(["webpush", "headers", "Topic"], to: .derived(.collapseTopic))
    }

    private static func expiring(_ message: ContentNode) -> ContentNode {
        message.settingUnlessGiven(
            [AndroidBlock(of: message).rawValue, "ttl"],
            to: .derived(.duration(atMost: MessageSchema.timeToLiveLimit))
        )
        .settingUnlessGiven(["apns", "headers", "apns-expiration"], to: .derived(.expiration))
        .settingUnlessGiven(
            ["webpush", "headers", "TTL"],
            to: .derived(.secondsLeft(atMost: MessageSchema.webTimeToLiveLimit))
        )
    }
}

/// The templates of a message with `android_v2` in place of `android`, made when an app first asks for them.
final class FCMPreview: Sendable {
    private let message: ContentNode
    private let rule: RuleDefinition
    /// The templates once they were asked for; the inner nil if the block cannot be made.
    private let made = Locked<FCMForms??>(nil)

    /// Keeps a message; nil if it has the block already, or nothing for Android.
    init?(_ message: ContentNode, rule: RuleDefinition) {
        guard AndroidBlock(of: message) == .first, AndroidBlock.hasContent(message) else { return nil }
        (self.message, self.rule) = (message, rule)
    }

    /// The templates; nil if the block cannot be made of the message.
    var forms: FCMForms? {
        made.withLock { made in
            if let made { return made }
            let forms = AndroidBlock.upgraded(message).map { FCMForms($0, rule: rule) }
            made = .some(forms)
            return forms
        }
    }
}

extension ContentNode {
    /// Sets a value at the end of a path unless the rule has one; the last key is compared without case, as in headers.
    fileprivate func settingUnlessGiven(_ path: [String], to value: ContentNode) -> ContentNode {
        let name = path.last?.lowercased()
        let siblings = self[Array(path.dropLast())]?.mergeMembers ?? []
        return siblings.contains { $0.key.lowercased() == name } ? self : setting(path[...], to: value)
    }
}
