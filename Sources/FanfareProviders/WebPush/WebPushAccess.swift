internal import FanfareCore
internal import PushCrypto
internal import PushTransport
internal import Threading

/// Access to Web Push: many services, one VAPID signature for each, and a body encrypted for each device.
final class WebPushAccess: ProviderAccess {
    private let tokens: VAPIDTokens

    init(tokens: VAPIDTokens) {
        self.tokens = tokens
    }

    /// Returns a credential without a field: signatures differ by origin, and the writer adds them.
    func credential(at now: Microseconds, wall: Microseconds) -> Credential? {
        Credential(authorization: nil, generation: tokens.generation)
    }

    func renew(after generation: Int, at now: Microseconds, wall: Microseconds) -> Bool {
        tokens.renew(after: generation, at: now)
    }

    func makeWriter() throws(CryptoError) -> any RequestWriter {
        WebPushWriter(tokens: tokens, encryptor: try WebPushEncryptor())
    }

    func verdict(_ answer: PushAnswer, in attempt: AttemptContext) -> Verdict {
        // Even a 2xx is examined, because WNS reports a dropped push in a header.
        WebPushAnswer(status: Int(answer.status), body: answer.body, header: answer.header).verdict(in: attempt)
    }

    func reason(_ answer: PushAnswer) -> String? { WebPushErrorBody(parsing: answer.body).reason }
}

/// Writes Web Push requests.
final class WebPushWriter: RequestWriter {
    private let tokens: VAPIDTokens
    private let encryptor: WebPushEncryptor

    init(tokens: VAPIDTokens, encryptor: WebPushEncryptor) {
        self.tokens = tokens
        self.encryptor = encryptor
    }

    func write(
        tag: UInt64,
        _ delivery: PreparedDelivery,
        content: PushContent,
        heads: VariantHeads,
        credential: Credential
    ) throws(RequestProblem) -> PushRequest {
        guard case .url(let url, let keys as SubscriptionKeys) = delivery.address else {
            throw RequestProblem("it has no endpoint")
        }
        let push = content.push
        let body = try encrypt(push.body, for: keys)
        return try RequestProblem.refusing { () throws(HeaderError) in
            let head = try heads.head(delivery.variant, generation: credential.generation, origin: url.origin) {
                () throws(HeaderError) in
                try self.head(push, origin: url.origin)
            }
            return try PushRequest(
                tag: tag,
                path: url.target,
                head: head,
                varyingValue: delivery.deliveryID,
                body: PushBody(body),
                origin: url.origin
            )
        }
    }

    private func encrypt(_ body: [UInt8], for keys: SubscriptionKeys) throws(RequestProblem) -> [UInt8] {
        do throws(WebPushEncryptionError) {
            return try encryptor.encrypt(body, for: keys)
        } catch {
            throw RequestProblem("\(error)")
        }
    }

    private func head(_ push: RenderedPush, origin: Endpoint) throws(HeaderError) -> HeaderBlock {
        var fields: [HeaderField] = []
        for header in push.headers(forHost: origin.host) { fields.append(try HeaderField(header.name, header.value)) }
        fields.append(try HeaderField("content-type", "application/octet-stream"))
        fields.append(try HeaderField("content-encoding", "aes128gcm"))
        // A request without a signature is sent too: the service's error is recorded like any answer.
        if let authorization = tokens.authorization(for: origin, at: Clocks.steady, wall: Clocks.wall) {
            fields.append(try HeaderField("authorization", authorization))
        }
        return try HeaderBlock(fields, varyingName: push.deliveryHeader?.name)
    }
}
