public import FanfareConfiguration
public import FanfareCore
internal import FanfareProviders
public import FanfareTools
internal import PushTransport

/// FCM's result of validating a message without delivering it.
public struct MessageValidation: Sendable {
    /// Whether FCM accepts the message.
    public let isTaken: Bool
    /// FCM's answer, in its own words if it refused.
    public let detail: String

    /// The result as JSON.
    public var json: JSONValue { ["taken": .bool(isTaken), "detail": .string(detail)] }
}

extension RuleExplanation {
    /// Validates the message with FCM (`validate_only`).
    ///
    /// - Parameters:
    ///   - configuration: names the app's service account.
    ///   - token: the token to address; nil for an invented token, whose refusal does not count against the message.
    ///   - environment: variables of the process, for `CREDENTIALS_DIRECTORY`.
    /// - Returns: FCM's answer; nil for other providers and if nothing would be sent.
    /// - Throws: ``ToolError`` if FCM cannot be reached.
    public func validate(
        _ configuration: Configuration,
        token: String? = nil,
        environment: [String: String]
    ) throws(ToolError) -> MessageValidation? {
        guard provider == .fcm, problem == nil else { return nil }
        guard let credentials = configuration.apps[app]?.fcm else {
            throw ToolError(
                .configuration,
                "app \(app) has no fcm credentials",
                hint: "Set apps.\(app).fcm.service_account_file."
            )
        }
        do {
            let transports = ProviderTransports(configuration.send)
            let probe = FCMProbe(app: app, credentials: credentials, transports: transports)
            let access = try probe.access(CredentialFiles(environment: environment))
            let body = try validating(token)
            return try Self.judge(probe.ask(body, access), isTokenOurs: token == nil)
        } catch {
            throw ToolError(error)
        }
    }

    /// Returns the request's body with the token and `validate_only`.
    private func validating(_ token: String?) throws -> [UInt8] {
        let request = try JSONValue(parsing: body)
        var message = request["message"]?.objectValue ?? JSONObject()
        if message["token"] != nil { message["token"] = .string(token ?? "fanfare-check!") }
        let marked: JSONValue = ["validate_only": true, "message": .object(message)]
        return marked.encoded
    }

    private static func judge(_ answer: PushAnswer, isTokenOurs: Bool) throws(ToolError) -> MessageValidation {
        guard answer.fate == .answered else { throw ToolError(.unavailable, "FCM did not answer: \(answer.detail)") }
        if answer.status == 200 { return MessageValidation(isTaken: true, detail: "FCM accepts it") }
        let error = FCMErrorBody(parsing: answer.body)
        let isAboutToken = answer.status == 400 && error.namesToken || error.errorCode == "UNREGISTERED"
        if isTokenOurs && isAboutToken {
            return MessageValidation(
                isTaken: true,
                detail: "FCM accepts it; only the dummy token was rejected"
            )
        }
        let said = (try? JSONValue(parsing: answer.body))?["error"]?["message"]?.stringValue ?? ""
        let words = [error.reason ?? "", String(said.prefix(300))].filter { !$0.isEmpty }.joined(separator: ": ")
        return MessageValidation(isTaken: false, detail: "FCM says \(answer.status) \(words)")
    }
}
