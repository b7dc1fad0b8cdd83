import Foundation

/// A push service's state of one connection.
final class WebPushSession: ProviderSession {
    /// The longest time that services keep a message: thirty days, in seconds.
    private static let longestTTL = 2_592_000

    private let simulator: WebPushSimulator
    /// The last verified header, so that its signature is checked once per connection and not per request.
    private var verified: (header: String, credential: VAPIDCredential)?
    /// The service of the current request, for faults on it.
    private var service = WebPushService.rfc

    init(simulator: WebPushSimulator) {
        self.simulator = simulator
    }

    func judge(_ request: PushRequest) -> Judgement {
        guard let endpoint = WebPushEndpoint(request.head) else {
            return Judgement(target: "", answer: WebPushService.rfc.answer(.notFound))
        }
        let headers = WebPushHeaders(request.head.fields)
        let message = EncryptedMessage(request.bytes)
        var judgement = Judgement(target: endpoint.path, answer: ProviderAnswer(status: 201))
        service = endpoint.service
        if let rejection = failure(request, endpoint, headers, message) {
            judgement.answer = service.answer(rejection)
            return judgement
        }
        judgement.answer = success(request, headers)
        judgement.identity = headers.topics.first
        if simulator.decrypts, let message {
            decrypt(message, for: endpoint, into: &judgement)
        }
        return judgement
    }

    /// Runs the checks in the order of the real services, as far as it is known.
    private func failure(
        _ request: PushRequest,
        _ endpoint: WebPushEndpoint,
        _ headers: WebPushHeaders,
        _ message: EncryptedMessage?
    ) -> WebPushRejection? {
        guard request.head.method == "POST" else { return .methodNotAllowed }
        let isHome = request.head.host.hasSuffix(".notify.windows.com")
        if let rejection = headers.failure(for: endpoint.service, isHome: isHome) { return rejection }
        do {
            let credential = try credential(headers.authorization)
            let now = request.unixMicroseconds / 1_000_000
            let restriction = fingerprint(of: endpoint)
            guard credential != nil || restriction == nil else { return .unauthorized }
            if let rejection = credential?.failure(
                origin: request.head.origin,
                fingerprint: restriction,
                service: endpoint.service,
                now: now
            ) {
                return rejection
            }
            if let credential, credential.publicKey == message?.keyID { return .keyReused }
        } catch {
            return error
        }
        return bodyFailure(request, endpoint.service, headers, message)
    }

    private func credential(_ header: String?) throws(WebPushRejection) -> VAPIDCredential? {
        guard let header else { return nil }
        if let verified, verified.header == header { return verified.credential }
        let credential = try VAPIDCredential(header)
        verified = (header, credential)
        return credential
    }

    private func fingerprint(of endpoint: WebPushEndpoint) -> String? {
        switch endpoint.restriction {
        case .own: simulator.fingerprint
        case .key(let fingerprint): fingerprint
        case .open: nil
        }
    }

    private func bodyFailure(
        _ request: PushRequest,
        _ service: WebPushService,
        _ headers: WebPushHeaders,
        _ message: EncryptedMessage?
    ) -> WebPushRejection? {
        let count = request.length
        guard count <= service.bodyLimit else { return .payloadTooLarge }
        guard count > 0 else { return nil }
        guard headers.encodings == ["aes128gcm"] else { return .badEncryption }
        if service == .mozilla, headers.hasDraftEncryption { return .badEncryption }
        return message?.hasValidKey == true ? nil : .badEncryption
    }

    private func success(_ request: PushRequest, _ headers: WebPushHeaders) -> ProviderAnswer {
        let id = CanonicalUUID.random()
        let ttl = min(headers.ttl.flatMap(WebPushHeaders.seconds) ?? 0, Self.longestTTL)
        let location = request.head.origin + (service == .mozilla ? "/m/" : "/message/") + id
        var answer = ProviderAnswer(status: 201, headers: [(name: "location", value: location)])
        switch service {
        case .rfc, .mozilla, .fcm, .unifiedpush: answer.headers.append((name: "ttl", value: String(ttl)))
        case .apple: answer.headers.append((name: "apns-id", value: id))
        case .wns: answer.headers.append((name: "x-wns-notificationstatus", value: "received"))
        }
        if service == .mozilla {
            answer = .json(201, #"{"message-id":"\#(id)"}"#).adding(answer.headers)
        }
        guard service == .rfc, headers.prefersReceipt else { return answer }
        let receipt = #"<\#(request.head.origin)/receipt/\#(id)>; rel="urn:ietf:params:push:receipt""#
        return ProviderAnswer(status: 202, headers: answer.headers + [(name: "link", value: receipt)])
    }

    /// Decrypts a message as the browser does; the service cannot do so, and has accepted the message before.
    private func decrypt(_ message: EncryptedMessage, for endpoint: WebPushEndpoint, into judgement: inout Judgement) {
        guard let subscriber = simulator.subscribers.subscriber(at: endpoint.path) else { return }
        do {
            let plaintext = try subscriber.decrypt(message)
            judgement.shownBody = plaintext
            if let check = DeclarativeCheck(plaintext) {
                (judgement.presentation, judgement.problem) = (check.presentation, check.problem)
            }
            judgement.identity = judgement.identity.map { topic in
                var hash = StableHash()
                hash.combine(String(decoding: plaintext, as: UTF8.self))
                return topic + " " + String(hash.value, radix: 36)
            }
        } catch {
            judgement.problem = "the browser cannot decrypt the message: " + error.rawValue
        }
    }

    func answer(_ fault: StatusFault, to judgement: Judgement, unixMicroseconds: Int64) -> ProviderAnswer {
        let named = fault.reason.flatMap(WebPushRejection.init(rawValue:))
        let status = fault.status ?? named.map(service.status) ?? 500
        if let body = fault.body {
            return ProviderAnswer.raw(status, reason: fault.reason, body).adding(fault.headers)
        }
        guard status >= 400 else { return ProviderAnswer(status: status, reason: fault.reason, headers: fault.headers) }
        let rejection = named ?? WebPushRejection.allCases.first { service.status(of: $0) == status }
        let text = fault.reason ?? rejection?.text ?? "error \(status)"
        return service.answer(status, rejection, reason: fault.reason, text: named?.text ?? text).adding(fault.headers)
    }
}
