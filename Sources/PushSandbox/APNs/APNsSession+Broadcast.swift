extension APNsSession {
    /// Decides about a publication to a channel, or about a request to manage channels.
    func judge(_ broadcast: BroadcastRequest) -> Judgement {
        let given = broadcast.header("apns-request-id")
        let id = given.flatMap { CanonicalUUID.isValid($0) ? $0.lowercased() : nil } ?? CanonicalUUID.random()
        let headers = [(name: "apns-request-id", value: id)]
        let answer =
            switch result(of: broadcast) {
            case .success(let answer): answer.adding(headers)
            case .failure(let rejection): answer(to: rejection, headers: headers)
            }
        return Judgement(
            target: broadcast.operation == .publish ? broadcast.header("apns-channel-id") ?? "" : broadcast.bundleID,
            identity: given == nil ? nil : id,
            trusted: isTrusted,
            answer: answer,
            delivers: broadcast.operation == .publish
        )
    }

    private func result(of broadcast: BroadcastRequest) -> Result<ProviderAnswer, APNsRejection> {
        guard broadcast.hasMethod else { return .failure(.methodNotAllowed) }
        if let failure = credentialFailure(broadcast.request, broadcast.header("authorization")) {
            return .failure(failure)
        }
        if let id = broadcast.header("apns-request-id"), !CanonicalUUID.isValid(id) { return .failure(.badMessageID) }
        // The bundle id without a suffix: suffixes belong to topics.
        guard covers(bundleID: broadcast.bundleID) else { return .failure(.topicDisallowed) }
        let app = BroadcastChannels.App(bundleID: broadcast.bundleID, environment: broadcast.request.environment)
        guard broadcast.needsChannel else { return withoutChannel(broadcast, app) }
        guard let channel = broadcast.header("apns-channel-id") else { return .failure(.missingChannelID) }
        guard BroadcastChannels.isWellFormed(channel) else { return .failure(.badChannelID) }
        guard let policy = simulator.channels.policy(app, channel) else { return .failure(.channelNotRegistered) }
        if broadcast.operation == .publish {
            return broadcast.publishFailure(policy).map { .failure($0) } ?? .success(ProviderAnswer(status: 200))
        }
        if broadcast.request.head.method == "GET" {
            return .success(.json(200, #"{"message-storage-policy":\#(policy.rawValue),"push-type":"LiveActivity"}"#))
        }
        simulator.channels.delete(app, channel)
        return .success(ProviderAnswer(status: 204))
    }

    /// Lists the channels, or creates one.
    private func withoutChannel(
        _ broadcast: BroadcastRequest,
        _ app: BroadcastChannels.App
    ) -> Result<ProviderAnswer, APNsRejection> {
        if broadcast.operation == .list {
            let ids = simulator.channels.all(app).map(JSONValue.quoted).joined(separator: ",")
            return .success(.json(200, #"{"channels":[\#(ids)]}"#))
        }
        guard broadcast.request.length > 0 else { return .failure(.payloadEmpty) }
        guard let body = JSONParser.parse(broadcast.request.bytes)?.members else {
            return .failure(.badRequestPayload)
        }
        guard let type = body["push-type"]?.text else { return .failure(.missingPushType) }
        guard type.lowercased() == "liveactivity" else { return .failure(.invalidPushType) }
        guard case .integer(let number)? = body["message-storage-policy"],
            let policy = BroadcastChannels.Policy(rawValue: number)
        else { return .failure(.badRequestParams) }
        guard let id = simulator.channels.make(app, policy) else { return .failure(.cannotCreateChannelConfig) }
        return .success(ProviderAnswer(status: 201, headers: [(name: "apns-channel-id", value: id)]))
    }
}
