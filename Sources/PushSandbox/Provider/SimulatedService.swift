/// One of the services that a provider has, by the name that ledger, counts and faults use.
struct SimulatedService: Sendable {
    /// The name.
    let rawValue: String
    /// Whether its requests are pushes.
    var isPush = true
    /// What came about by a request that was accepted, for people: `the simulated iPhone got a push`.
    let success: String
    /// What people call the target of a request.
    var targetName = "token"
    /// The header fields that tell people something, in lower case and in the order in which they are shown.
    var tellingHeaders: [String] = []
    /// See ``status(of:)``.
    let status: @Sendable (_ reason: String) -> Int?
    /// What the device shows of a body, a line each.
    var shown: @Sendable (_ body: JSONObject?) -> [String] = { _ in [] }

    /// The status that the service gives a reason with; nil if it has no such reason.
    func status(of reason: String) -> Int? { status(reason) }
}

extension SimulatedService: Hashable {
    static func == (one: SimulatedService, other: SimulatedService) -> Bool { one.rawValue == other.rawValue }

    func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }
}

extension SimulatedService: RawRepresentable, CaseIterable {
    /// Those of all providers.
    static let allCases = SimulatedProviders.all.flatMap(\.services)

    /// Finds the service of a name; nil if there is none.
    init?(rawValue: String) {
        guard let service = Self.allCases.first(where: { $0.rawValue == rawValue }) else { return nil }
        self = service
    }
}

extension SimulatedService {
    /// What is shown of a notification of FCM's form; a platform's own fields come before the common ones.
    static func lines(of notification: JSONObject?, over platform: JSONObject? = nil) -> [String] {
        let lines = ["title", "body"].compactMap { platform?[$0]?.text ?? notification?[$0]?.text }
        return lines.isEmpty ? [nothingToSee] : lines
    }

    /// What is shown where the app alone is told.
    static let nothingToSee = "(nothing to see: the app is told in the background)"
}
