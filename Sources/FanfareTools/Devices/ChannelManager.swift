public import FanfareConfiguration
internal import FanfareCore
internal import FanfareProviders
internal import FanfareService
internal import HTTP2Client
internal import PushTransport

/// Creates, lists and deletes an app's broadcast channels at APNs, which Live Activities subscribe to (Apple, "Sending
/// channel management requests to APNs").
///
/// Blocks the calling thread until APNs answers.
public struct ChannelManager: Sendable {
    /// What APNs stores for offline devices; fixed when the channel is created.
    public enum Storage: Int64, Sendable {
        /// Nothing: APNs allows a higher publishing rate, and `ttl` must be omitted.
        case nothing = 0
        /// The newest message, for up to 8 hours.
        case newest = 1
    }

    private let app: String
    private let credentials: APNsSettings
    private let origin: Endpoint
    private let proxy: HTTPProxy?
    private let files: CredentialFiles

    /// Reads an app's credentials from a configuration; connects to nothing yet.
    ///
    /// - Parameters:
    ///   - configuration: checked values.
    ///   - app: the app.
    ///   - isSandbox: whether the channels belong to development builds.
    ///   - environment: variables of the process, for `CREDENTIALS_DIRECTORY`.
    /// - Throws: ``ToolError`` if the app has no credentials for APNs.
    public init(
        _ configuration: Configuration,
        app: String,
        isSandbox: Bool,
        environment: [String: String]
    ) throws(ToolError) {
        guard let credentials = configuration.apps[app]?.apns else {
            throw ToolError(.configuration, "app \(app) has no apns credentials", hint: "Configure apps.\(app).apns.")
        }
        self.app = app
        self.credentials = credentials
        origin = Self.origin(isSandbox ? credentials.sandboxEndpoint : credentials.endpoint)
        proxy = configuration.send.proxy
        files = CredentialFiles(environment: environment)
    }

    /// Apple serves channel management on separate hosts; a simulator or gateway serves everything on one.
    private static func origin(_ endpoint: Endpoint) -> Endpoint {
        switch endpoint {
        case .apnsProduction: .channelsProduction
        case .apnsSandbox: .channelsSandbox
        default: endpoint
        }
    }

    /// Creates a channel.
    ///
    /// - Parameter storage: what APNs stores for offline devices.
    /// - Returns: the channel's id, which devices subscribe with and rules name in `to.channel`.
    /// - Throws: ``ToolError``.
    public func create(_ storage: Storage) throws(ToolError) -> String {
        let body: JSONValue = ["message-storage-policy": JSONValue(storage.rawValue), "push-type": "LiveActivity"]
        let answer = try ask("POST", "channels", body: body.encoded, expecting: 201)
        guard let id = answer.headers["apns-channel-id"], !id.isEmpty else {
            throw ToolError(
                .failed,
                "APNs made a channel and did not say its id",
                hint: "`fanfare channels list` shows it."
            )
        }
        return id
    }

    /// Lists the app's channels.
    ///
    /// - Returns: the channels' ids.
    /// - Throws: ``ToolError``.
    public func list() throws(ToolError) -> [String] {
        let answer = try ask("GET", "all-channels", expecting: 200)
        guard let ids = (try? JSONValue(parsing: answer.body))?["channels"]?.arrayValue else {
            throw ToolError(.failed, "APNs answered without a list of channels", at: "\(origin)")
        }
        return ids.compactMap(\.stringValue)
    }

    /// Deletes a channel permanently; messages published before may still arrive.
    ///
    /// - Parameter id: the channel.
    /// - Throws: ``ToolError``, also if there is no such channel.
    public func delete(_ id: String) throws(ToolError) {
        _ = try ask("DELETE", "channels", channel: id, expecting: 204)
    }

    private func ask(
        _ method: String,
        _ place: String,
        channel: String? = nil,
        body: [UInt8] = [],
        expecting status: UInt16
    ) throws(ToolError) -> SingleAnswer {
        let answer: SingleAnswer
        do {
            answer = try request(method, place, channel: channel, body: body).send(keeping: ["apns-channel-id"])
        } catch {
            throw ToolError(error)
        }
        guard answer.status != status else { return answer }
        guard answer.status != 0 else {
            let hint = "Is \(origin) reachable from here, and its certificate trusted?"
            throw ToolError(.unavailable, "no answer: \(answer.detail)", at: "\(origin)", hint: hint)
        }
        let reason = APNsErrorBody(parsing: answer.body).reason ?? "no reason"
        throw ToolError(.failed, "APNs says \(answer.status) \(reason)", at: "\(origin)", hint: Self.hint(reason))
    }

    private func request(
        _ method: String,
        _ place: String,
        channel: String?,
        body: [UInt8]
    ) throws -> SingleRequest {
        var fields: [HeaderField] = []
        if !body.isEmpty { fields.append(try HeaderField("content-type", "application/json")) }
        if let channel { fields.append(try HeaderField("apns-channel-id", channel)) }
        let proof = try APNsProof(credentials, app: app, files: files)
        let url = try HTTPSURL("\(origin)/1/apps/\(credentials.topic)/\(place)")
        var request = try SingleRequest(method, url, fields: fields + proof.fields, body: body)
        request.caFile = credentials.caFile
        request.proxy = proxy
        request.clientCertificate = proof.clientCertificate
        return request
    }

    private static func hint(_ reason: String) -> String {
        switch reason {
        case "FeatureNotEnabled": "Enable broadcasts for the App ID on Apple's developer site."
        case "CannotCreateChannelConfig": "An app has at most 10,000 channels in an environment; delete some."
        case "ChannelNotRegistered", "BadChannelId": "`fanfare channels list` shows those there are."
        case "TopicDisallowed", "TopicMismatch": "Is topic the app's bundle id, and the credential allowed for it?"
        case "InvalidProviderToken": "Do team_id, key_id and key_file belong together?"
        case "TooManyRequests", "InternalServerError", "ServiceUnavailable", "Shutdown": "Try again later."
        default: "Look up the reason in Apple's documentation of broadcasts."
        }
    }
}
