public import FanfareConfiguration
internal import FanfareCore
internal import FanfareProviders
internal import FanfareService
internal import Foundation
internal import HTTP2Client
internal import PushTransport
internal import Threading

/// Subscribes devices known to Fanfare to FCM topics, or unsubscribes them, for rules with `to: { fcm_topic: … }`.
///
/// Blocks the calling thread until Google answers, a thousand devices at a time.
public struct TopicManager {
    /// How often a call is repeated that Google could not serve.
    private static let repeats = 5

    private let credentials: FCMSettings
    private let origin: Endpoint
    private let files: CredentialFiles
    private let proxy: HTTPProxy?
    private let probe: FCMProbe
    private var access: FCMProbe.Access?

    /// Reads an app's credentials from a configuration; connects to nothing yet.
    ///
    /// - Parameters:
    ///   - configuration: checked values.
    ///   - app: the app.
    ///   - environment: variables of the process, for `CREDENTIALS_DIRECTORY`.
    /// - Throws: ``ToolError`` if the app has no credentials for FCM.
    public init(_ configuration: Configuration, app: String, environment: [String: String]) throws(ToolError) {
        guard let credentials = configuration.apps[app]?.fcm else {
            throw ToolError(
                .configuration,
                "app \(app) has no fcm credentials",
                hint: "Set apps.\(app).fcm.service_account_file."
            )
        }
        self.credentials = credentials
        // A simulator or gateway serves all endpoints at one origin.
        origin = credentials.endpoint == .fcm ? .fcmTopics : credentials.endpoint
        files = CredentialFiles(environment: environment)
        proxy = configuration.send.proxy
        probe = FCMProbe(app: app, credentials: credentials, transports: ProviderTransports(configuration.send))
    }

    /// Subscribes tokens to a topic, or unsubscribes them; repeating a call is harmless.
    ///
    /// - Parameters:
    ///   - tokens: any number.
    ///   - topic: the topic's name.
    ///   - isSubscribed: whether the tokens are to be subscribed.
    /// - Returns: the counts of the result.
    /// - Throws: ``ToolError`` if Google refuses a whole call; earlier calls have taken effect.
    public mutating func set(_ tokens: [String], of topic: String, _ isSubscribed: Bool) throws(ToolError) -> TopicTally
    {
        let operation: FCMTopicManagement.Operation = isSubscribed ? .subscribe : .unsubscribe
        var tally = TopicTally()
        var left = tokens
        for attempt in 0...Self.repeats where !left.isEmpty {
            if attempt > 0 { Thread.sleep(forTimeInterval: Double(1 << (attempt - 1))) }
            guard let calls = FCMTopicManagement.calls(topic: topic, tokens: left) else {
                throw ToolError(.usage, "no topic has that name", hint: "Use letters, digits and - _ . ~ %.")
            }
            var again: [String] = []
            for call in calls {
                let part = Array(left[call.tokens])
                again += try send(call.body, operation, part, into: &tally)
            }
            left = again
        }
        tally.unserved += left.count
        return tally
    }

    /// Makes one call.
    ///
    /// - Returns: the tokens to try again.
    private mutating func send(
        _ body: [UInt8],
        _ operation: FCMTopicManagement.Operation,
        _ tokens: [String],
        into tally: inout TopicTally
    ) throws(ToolError) -> [String] {
        switch try answer(body, operation, count: tokens.count) {
        case .results(let results):
            for result in results { tally.count(result) }
            return zip(tokens, results).filter { $0.1 == .retry }.map(\.0)
        case .retry(let floor):
            Thread.sleep(forTimeInterval: Double(floor) / Double(Micros.second))
            return tokens
        case .renewCredential:
            throw ToolError(
                .failed,
                "Google refuses the access token",
                at: "\(origin)",
                hint: "Is the service account one of this project, and enabled? `fanfare check --online` asks FCM."
            )
        case .refused(let words):
            throw ToolError(
                .failed,
                "Google says \(words)",
                at: "\(origin)",
                hint: "Has the service account the role Firebase Cloud Messaging API Admin?"
            )
        }
    }

    private mutating func answer(
        _ body: [UInt8],
        _ operation: FCMTopicManagement.Operation,
        count: Int
    ) throws(ToolError) -> FCMTopicAnswer {
        do {
            let access = try access ?? probe.access(files)
            self.access = access
            var fields = [try HeaderField("authorization", "Bearer \(access.token)")]
            for header in FCMTopicManagement.headers { fields.append(try HeaderField(header.name, header.value)) }
            let url = try HTTPSURL("\(origin)\(operation.path)")
            var request = try SingleRequest("POST", url, fields: fields, body: body)
            request.caFile = credentials.caFile
            request.proxy = proxy
            let answer = try request.send(keeping: ["retry-after"])
            guard answer.status != 0 else { return .retry(floor: 0) }
            return FCMTopicAnswer(
                status: Int(answer.status),
                body: answer.body,
                retryAfter: answer.headers["retry-after"],
                count: count,
                now: Clocks.wall
            )
        } catch {
            throw ToolError(error)
        }
    }
}
