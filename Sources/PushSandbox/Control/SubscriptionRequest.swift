/// The body of `POST /subscriptions`: the simulated browser subscriptions to create.
///
/// A JSON object, every member optional:
///
/// | member | value |
/// |---|---|
/// | `service` | `"rfc"` (default), `"mozilla"`, `"fcm"`, `"apple"`, `"wns"`, `"unifiedpush"`: the service whose endpoints and wording are simulated |
/// | `name` | 1 to 200 characters of the base64url alphabet; the same name gives the same subscription. Random by default |
/// | `count`, `first` | with `count`, that number of subscriptions, at most 10000, called `NAME-FIRST`, `NAME-(FIRST+1)` and so on; without `count`, one subscription, called `NAME` |
/// | `application_server_key` | the VAPID public key to which the subscription is restricted; by default the sandbox's own key. With null the subscription is not restricted |
struct SubscriptionRequest {
    private static let mostAtOnce: Int64 = 10_000

    private let service: WebPushService
    private let names: [String]
    private let key: ApplicationServerKey

    init(_ body: [UInt8]) throws(SandboxError) {
        guard let value = body.isEmpty ? .object(JSONObject()) : JSONParser.parse(body) else {
            throw SandboxError(.invalidOption, "subscriptions: not JSON; expected an object")
        }
        var fields = try JSONFields(value, place: "subscriptions", code: .invalidOption)
        service = try fields.choice("service", WebPushService.self) ?? .rfc
        let name = try fields.string("name") ?? CanonicalUUID.random()
        let first = try fields.integer("first", in: 0...Int64(Int32.max)) ?? 0
        if let count = try fields.integer("count", in: 1...Self.mostAtOnce) {
            names = (first..<first + count).map { "\(name)-\($0)" }
        } else {
            names = [name]
        }
        switch fields.value("application_server_key") {
        case nil: key = .sandbox
        case .null?: key = .none
        case .string(let text)?: key = .key(text)
        default: throw fields.failure("application_server_key", "must be a string or null")
        }
        try fields.finish()
    }

    /// Creates the subscriptions as JSON lines.
    func lines(_ maker: SubscriptionMaker) throws(SandboxError) -> [UInt8] {
        var line = JSONLine(reservingCapacity: names.count * 320)
        for name in names {
            let subscription = try maker.subscription(name, service, key)
            line.append(raw: #"{"endpoint":"#)
            line.append(string: subscription.endpoint)
            line.append(raw: #","expirationTime":null,"keys":{"p256dh":"\#(subscription.keys.p256dh)","#)
            line.append(raw: #""auth":"\#(subscription.keys.auth)"}}"#)
            line.append(raw: "\n")
        }
        return line.bytes
    }
}
