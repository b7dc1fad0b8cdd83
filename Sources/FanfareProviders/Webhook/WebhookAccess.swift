internal import FanfareCore
internal import PushCrypto
internal import PushTransport
internal import Threading

/// Access to webhooks: the sender has no credential, and each request is signed with the webhook's own secret.
final class WebhookAccess: ProviderAccess {
    /// The header fields that verdicts use.
    static let answerHeaders = ["retry-after"]

    func credential(at now: Microseconds, wall: Microseconds) -> Credential? {
        Credential(authorization: nil, generation: 0)
    }

    func renew(after generation: Int, at now: Microseconds, wall: Microseconds) -> Bool { false }

    func makeWriter() throws(CryptoError) -> any RequestWriter {
        WebhookWriter(signature: try WebhookSignature()) { Clocks.wall }
    }

    func verdict(_ answer: PushAnswer, in attempt: AttemptContext) -> Verdict {
        WebhookAnswer(status: Int(answer.status), retryAfter: answer.header("retry-after")).verdict(in: attempt)
    }

    /// Returns nil: the text of a webhook's answer may contain anything, and is not logged.
    func reason(_ answer: PushAnswer) -> String? { nil }
}

/// Writes and signs requests to webhooks.
final class WebhookWriter: RequestWriter {
    private let signature: WebhookSignature
    private let wall: () -> Microseconds

    /// - Parameters:
    ///   - signature: signs the requests.
    ///   - wall: returns the wall-clock time.
    init(signature: WebhookSignature, wall: @escaping () -> Microseconds) {
        (self.signature, self.wall) = (signature, wall)
    }

    func write(
        tag: UInt64,
        _ delivery: PreparedDelivery,
        content: PushContent,
        heads: VariantHeads,
        credential: Credential
    ) throws(RequestProblem) -> PushRequest {
        guard case .url(let url, let secret as WebhookSecret) = delivery.address else {
            throw RequestProblem("it has no URL")
        }
        // The time of the attempt, not of the event, because receivers refuse old signatures.
        let timestamp = String(wall() / Micros.second)
        let body = content.push.body
        let signed = try sign(delivery.deliveryID, timestamp, body, secret)
        return try RequestProblem.refusing { () throws(HeaderError) in
            var fields = [
                try HeaderField("content-type", "application/json"), try HeaderField("user-agent", "Fanfare"),
                try HeaderField("webhook-timestamp", timestamp), try HeaderField("webhook-signature", signed),
            ]
            if let trace = content.trace {
                // Each attempt is a span of its own.
                fields.append(try HeaderField("traceparent", trace.traceparent(from: .random(in: 1 ... .max))))
            }
            let head = try HeaderBlock(fields, varyingName: DeliveryHeader.webhookID.name)
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

    private func sign(
        _ id: [UInt8],
        _ timestamp: String,
        _ body: [UInt8],
        _ secret: WebhookSecret
    ) throws(RequestProblem) -> String {
        do throws(CryptoError) {
            return try signature.value(id: id, timestamp: timestamp, body: body, secret: secret)
        } catch {
            throw RequestProblem("\(error)")
        }
    }
}

extension DeliveryHeader {
    /// The header by which webhooks' receivers detect repeats.
    static let webhookID = DeliveryHeader("webhook-id")
}
