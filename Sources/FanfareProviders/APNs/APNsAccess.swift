internal import FanfareCore
internal import PushCrypto
internal import PushTransport

/// Access to APNs with a signing key, or with a certificate that the TLS handshake presents.
final class APNsAccess: ProviderAccess {
    /// The provider tokens; nil if the app uses a certificate.
    let tokens: ProviderTokens?

    init(tokens: ProviderTokens?) {
        self.tokens = tokens
    }

    func credential(at now: Microseconds, wall: Microseconds) throws(CryptoError) -> Credential? {
        guard let tokens else { return Credential(authorization: nil, generation: 0) }
        return try tokens.current(at: now, wall: wall)
    }

    func renew(after generation: Int, at now: Microseconds, wall: Microseconds) throws(CryptoError) -> Bool {
        try tokens?.renew(after: generation, at: now, wall: wall) ?? false
    }

    func makeWriter() -> any RequestWriter { SharedHeadWriter() }

    func verdict(_ answer: PushAnswer, in attempt: AttemptContext) -> Verdict {
        guard answer.status != 200 else { return .accepted }
        let said = APNsAnswer(
            status: Int(answer.status),
            body: answer.body,
            retryAfter: answer.header("retry-after")
        )
        return said.verdict(in: attempt)
    }

    func verdict(onGoodbye words: [UInt8], in attempt: AttemptContext) -> Verdict? {
        words.isEmpty ? nil : APNsGoodbye(parsing: words).verdict(in: attempt)
    }

    func reason(_ answer: PushAnswer) -> String? { APNsErrorBody(parsing: answer.body).reason }
}
