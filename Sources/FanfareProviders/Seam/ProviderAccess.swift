package import FanfareCore
package import PushCrypto
package import PushTransport

/// What sending differs in by provider beside the transport: credentials, requests, answers.
///
/// Shared by all threads that send for one app.
package protocol ProviderAccess: Sendable {
    /// The credential to use now.
    ///
    /// - Parameters:
    ///   - now: steady time.
    ///   - wall: wall clock.
    /// - Returns: the credential; nil while there is none yet, so that nothing can be sent.
    /// - Throws: if OpenSSL cannot sign.
    func credential(at now: Microseconds, wall: Microseconds) throws(CryptoError) -> Credential?

    /// The provider called a credential expired.
    ///
    /// - Parameters:
    ///   - generation: which; a newer one may have come since.
    ///   - now: steady time.
    ///   - wall: wall clock.
    /// - Returns: false if it is too young to be expired: then a clock or a key is wrong.
    /// - Throws: if OpenSSL cannot sign.
    func renew(after generation: Int, at now: Microseconds, wall: Microseconds) throws(CryptoError) -> Bool

    /// Makes what one thread writes its requests with.
    ///
    /// - Throws: if OpenSSL lacks what it needs.
    func makeWriter() throws(CryptoError) -> any RequestWriter

    /// What an answer with a status means.
    func verdict(_ answer: PushAnswer, in attempt: AttemptContext) -> Verdict

    /// What the provider's last words on a connection mean for a request that it did not process there.
    ///
    /// - Parameters:
    ///   - words: GOAWAY's debug data.
    ///   - attempt: the circumstances of the attempt.
    /// - Returns: nil where they mean nothing more than that it was not processed.
    func verdict(onGoodbye words: [UInt8], in attempt: AttemptContext) -> Verdict?

    /// What the provider gives as its reason, in its own words, safe to log; nil if it gives none.
    func reason(_ answer: PushAnswer) -> String?
}

extension ProviderAccess {
    /// Nothing more: only APNs is known to say why it ends a connection.
    package func verdict(onGoodbye words: [UInt8], in attempt: AttemptContext) -> Verdict? { nil }
}

/// What a request proves its sender with.
package struct Credential: Sendable {
    /// The `authorization` field; nil where it is no field, or one for each origin.
    package let authorization: String?
    /// Which of its key's it is.
    package let generation: Int

    /// Takes over a credential.
    package init(authorization: String?, generation: Int) {
        (self.authorization, self.generation) = (authorization, generation)
    }
}

/// Writes one provider's requests, on one thread.
package protocol RequestWriter: AnyObject {
    /// Writes the request for a delivery.
    ///
    /// - Parameters:
    ///   - tag: the caller's number for it.
    ///   - delivery: which.
    ///   - content: what its variant gets.
    ///   - heads: the header blocks of its batch.
    ///   - credential: what to prove ourselves with.
    /// - Returns: the request.
    /// - Throws: ``RequestProblem`` for a delivery that can never be sent.
    func write(
        tag: UInt64,
        _ delivery: PreparedDelivery,
        content: PushContent,
        heads: VariantHeads,
        credential: Credential
    ) throws(RequestProblem) -> PushRequest
}

/// Why a delivery can never be sent, and is refused; holds no data.
package struct RequestProblem: Error {
    package let why: String

    package init(_ why: String) {
        self.why = why
    }

    /// Runs something that fails for fields that cannot be sent.
    package static func refusing<Value>(_ body: () throws(HeaderError) -> Value) throws(RequestProblem) -> Value {
        do throws(HeaderError) {
            return try body()
        } catch {
            throw RequestProblem("\(error)")
        }
    }
}
