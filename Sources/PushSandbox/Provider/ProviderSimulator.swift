/// A simulated service: one value per service, shared by all connections; a `SimulatedProvider` creates it.
protocol ProviderSimulator: Sendable {
    /// The service's name.
    var name: SimulatedService { get }

    /// The largest number of concurrent streams on a connection to the service.
    var streamLimit: Int { get }

    /// Whether a connection gets that many streams only after it has shown a valid credential, as with APNs.
    var opensNarrow: Bool { get }

    /// Returns whether a request is for this service, by its host and path.
    func serves(_ head: RequestHead) -> Bool

    /// Returns the device that a request names in its head; empty if it names none.
    func target(of head: RequestHead) -> String

    /// Starts the service on one connection.
    ///
    /// - Parameter client: the client's data from TLS.
    /// - Returns: the service's side of the connection.
    func makeSession(for client: TLSClient) -> any ProviderSession
}

/// The data about a client after its TLS handshake.
struct TLSClient: Sendable {
    let environment: Environment
    /// The wall clock at that time, in microseconds since 1970.
    let unixMicroseconds: Int64
    /// The certificate it presented, in DER; verified only as far as the client has its key.
    var certificate: [UInt8]?
}

/// A service's state of one connection, which may keep data of earlier requests.
///
/// Used on the connection's event loop only.
protocol ProviderSession: AnyObject {
    /// Whether the TLS handshake has already shown a valid credential.
    var isTrustedFromStart: Bool { get }

    /// Decides about a complete request as the service would.
    func judge(_ request: PushRequest) -> Judgement

    /// Creates the response to a fault in the service's format.
    ///
    /// - Parameters:
    ///   - fault: the fault's status, reason, body or time stamp.
    ///   - judgement: the judgement without the fault.
    ///   - unixMicroseconds: the wall clock of the request.
    /// - Returns: the response.
    func answer(_ fault: StatusFault, to judgement: Judgement, unixMicroseconds: Int64) -> ProviderAnswer
}

extension ProviderSession {
    var isTrustedFromStart: Bool { false }
}

/// A service's decision about a request.
struct Judgement {
    /// The device that the request names, which faults match and counts distinguish; empty if it names none.
    var target = ""
    /// The identity that a repeat of the same push shares; nil if the request has none.
    var identity: String?
    /// Whether the request had a valid credential, which raises the connection's stream limit.
    var trusted = false
    var answer: ProviderAnswer
    /// Whether an accepted request is a push to a device, not one for a token, a channel or a check.
    var delivers = true
    /// The ledger's text for the body if it is not the body itself: the decrypted message, or a form without its
    /// secret.
    var shownBody: [UInt8]?
    /// An error of the sender that the real service could not detect, and so does not report.
    var problem: String?
    /// How the device presents the push; nil if that is not checked.
    var presentation: String?
    /// The membership that the request changes, which counts distinguish; nil if it changes none.
    var membership: String?
    /// What the request changes; not run if a fault keeps the service from processing it.
    var effect: (() -> Void)?
}

/// A response to the client.
struct ProviderAnswer {
    let status: Int
    /// The provider's error code; nil if the push was accepted or the response has none.
    var reason: String?
    var headers: [(name: String, value: String)] = []
    var body: String?
    /// Whether the body is sent in two DATA frames, as Google's services may do.
    var splitsBody = false

    var isAccepted: Bool { (200..<300).contains(status) }
}
