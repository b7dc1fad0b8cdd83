/// A service of a provider, by its name in the ledger, in counts and in faults.
struct SimulatedService: Sendable {
    /// The name.
    let rawValue: String
    /// Whether its requests are pushes.
    var isPush = true
    /// The result of an accepted request, for people: `the simulated iPhone got a push`.
    let success: String
    /// The noun for the target of a request.
    var targetName = "token"
    /// The header fields that are shown to people, in lower case and in display order.
    var tellingHeaders: [String] = []
    /// Returns the status of a reason; see ``status(of:)``.
    let status: @Sendable (_ reason: String) -> Int?
    /// Returns what the device shows of a body, one line per element.
    var shown: @Sendable (_ body: JSONObject?) -> [String] = { _ in [] }

    /// Returns the status of a reason; nil if the service has no such reason.
    func status(of reason: String) -> Int? { status(reason) }
}

extension SimulatedService: Hashable {
    static func == (one: SimulatedService, other: SimulatedService) -> Bool { one.rawValue == other.rawValue }

    func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }
}

extension SimulatedService: RawRepresentable, CaseIterable {
    /// The services of all providers.
    static let allCases = SimulatedProviders.all.flatMap(\.services)

    /// Creates the service of a name; nil if there is none.
    init?(rawValue: String) {
        guard let service = Self.allCases.first(where: { $0.rawValue == rawValue }) else { return nil }
        self = service
    }
}

extension SimulatedService {
    /// Returns what is shown of a notification in FCM's form; a platform's own fields override the common ones.
    static func lines(of notification: JSONObject?, over platform: JSONObject? = nil) -> [String] {
        let lines = ["title", "body"].compactMap { platform?[$0]?.text ?? notification?[$0]?.text }
        return lines.isEmpty ? [nothingToSee] : lines
    }

    /// The text for a push that only the app sees.
    static let nothingToSee = "(nothing to see: the app is told in the background)"
}
