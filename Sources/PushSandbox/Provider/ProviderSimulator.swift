/// A service that the sandbox plays: one value per service, shared by all connections; a `SimulatedProvider` makes it.
protocol ProviderSimulator: Sendable {
    /// Which it is.
    var name: SimulatedService { get }

    /// Concurrent streams a connection to the service may have.
    var streamLimit: Int { get }

    /// Whether a connection gets that many streams only when it has proven a valid credential, as with APNs.
    var opensNarrow: Bool { get }

    /// Whether a request is for this service; host and path decide.
    func serves(_ head: RequestHead) -> Bool

    /// The device a request names, as far as the head tells; empty if it names none.
    func target(of head: RequestHead) -> String

    /// Begins to play the service on one connection.
    ///
    /// - Parameter client: what TLS says about the client.
    /// - Returns: the service's side of the connection.
    func makeSession(for client: TLSClient) -> any ProviderSession
}

/// What is known about a client when its TLS handshake is over.
struct TLSClient: Sendable {
    let environment: Environment
    /// Wall clock at that moment, in microseconds since 1970.
    let unixMicroseconds: Int64
    /// The certificate it presented, in DER; nothing has been verified but that the client has its key.
    var certificate: [UInt8]?
}

/// A service's side of one connection, which may remember what earlier requests on it established.
///
/// Used on the connection's event loop only.
protocol ProviderSession: AnyObject {
    /// Whether the TLS handshake has proven a valid credential already.
    var isTrustedFromStart: Bool { get }

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

extension ProviderSession {
    var isTrustedFromStart: Bool { false }
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
    /// Whether an accepted request is a push to a device, and not for a token, a channel or a mere check.
    var delivers = true
    /// What the ledger shows for the body where that is not the body itself: what the device decrypts, or a form
    /// without its secret.
    var shownBody: [UInt8]?
    /// A mistake of the sender that the real service could not have seen and so does not answer.
    var problem: String?
}

/// An answer on its way to the client.
struct ProviderAnswer {
    let status: Int
    /// The provider's error code; nil if the push was accepted or the answer names none.
    var reason: String?
    var headers: [(name: String, value: String)] = []
    var body: String?
    /// Whether the body is sent in two DATA frames, as Google's services may do.
    var splitsBody = false

    var isAccepted: Bool { (200..<300).contains(status) }
}
