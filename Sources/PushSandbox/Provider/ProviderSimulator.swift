/// A push service the sandbox plays: one value per service, shared by all connections.
///
/// This is the seam for further services: a new one brings its simulator and session and a line in `Router`.
protocol ProviderSimulator: Sendable {
    /// Name in ledger, counts and faults.
    var name: String { get }

    /// Whether a request is for this service; host and path decide.
    func serves(_ head: RequestHead) -> Bool

    /// The device a request names, as far as the head tells; empty if it names none.
    func target(of head: RequestHead) -> String

    /// Begins to play the service on one connection.
    func makeSession() -> any ProviderSession
}

/// A service's side of one connection, which may remember what earlier requests on it established.
///
/// Used on the connection's event loop only.
protocol ProviderSession: AnyObject {
    /// Decides about one complete request as the service would.
    func judge(_ request: PushRequest) -> Judgement

    /// Words a fault's status the way this service would.
    ///
    /// - Parameters:
    ///   - fault: status and reason, body or time stamp wanted.
    ///   - judgement: what the request would have been answered without the fault.
    ///   - unixMicroseconds: wall clock of the request.
    /// - Returns: the answer to send.
    func answer(_ fault: StatusFault, to judgement: Judgement, unixMicroseconds: Int64) -> ProviderAnswer
}

/// What a service makes of a request.
struct Judgement {
    /// The device the request names: what faults match and counts tell apart; empty if it names none.
    var target = ""
    /// The identity that a repeat of the same push has in common with it; nil if the request has none.
    var identity: String?
    /// Whether the request proved a valid credential, which widens the connection's stream limit.
    var trusted = false
    var answer: ProviderAnswer
}

/// An answer on its way to the client.
struct ProviderAnswer {
    let status: Int
    /// The provider's error code; nil if the push was accepted or the answer names none.
    var reason: String?
    var headers: [(name: String, value: String)] = []
    var body: String?

    var isAccepted: Bool { (200..<300).contains(status) }
}
