internal import FanfareCore
internal import PushCrypto
internal import PushTransport

/// Access to FCM with the access token of a service account.
final class FCMAccess: ProviderAccess {
    private let tokens: OAuthTokens

    init(tokens: OAuthTokens) {
        self.tokens = tokens
    }

    func credential(at now: Microseconds, wall: Microseconds) -> Credential? { tokens.current(at: now) }

    func renew(after generation: Int, at now: Microseconds, wall: Microseconds) -> Bool {
        tokens.renew(after: generation, at: now)
    }

    func makeWriter() -> any RequestWriter { SharedHeadWriter() }

    func verdict(_ answer: PushAnswer, in attempt: AttemptContext) -> Verdict {
        guard answer.status != 200 else { return .accepted }
        let said = FCMAnswer(
            status: Int(answer.status),
            body: answer.body,
            retryAfter: answer.header("retry-after")
        )
        return said.verdict(in: attempt)
    }

    func reason(_ answer: PushAnswer) -> String? { FCMErrorBody(parsing: answer.body).words }
}
