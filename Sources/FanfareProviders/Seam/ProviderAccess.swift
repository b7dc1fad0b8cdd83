package import FanfareCore
package import PushCrypto
package import PushTransport

/// The provider-specific part of sending, apart from the transport: credentials, requests, answers.
///
/// Shared by all threads that send for one app.
package protocol ProviderAccess: Sendable {
    /// Returns the credential to use now.
    ///
    /// - Parameters:
    ///   - now: monotonic time.
    ///   - wall: wall clock.
    /// - Returns: the credential; nil while there is none, so that nothing can be sent.
    /// - Throws: if OpenSSL cannot sign.
    func credential(at now: Microseconds, wall: Microseconds) throws(CryptoError) -> Credential?

    /// Renews a credential that the provider called expired.
    ///
    /// - Parameters:
    ///   - generation: the generation of the expired credential; a newer one may already exist.
    ///   - now: monotonic time.
    ///   - wall: wall clock.
    /// - Returns: false if the credential is too young to have expired, which means that a clock or a key is wrong.
    /// - Throws: if OpenSSL cannot sign.
    func renew(after generation: Int, at now: Microseconds, wall: Microseconds) throws(CryptoError) -> Bool

    /// Makes the request writer of one thread.
    ///
    /// - Throws: if OpenSSL lacks a required algorithm.
    func makeWriter() throws(CryptoError) -> any RequestWriter

    /// Judges an answer with a status.
    func verdict(_ answer: PushAnswer, in attempt: AttemptContext) -> Verdict

    /// Judges a request that was not processed on a connection that the provider closed.
    ///
    /// - Parameters:
    ///   - words: the debug data of GOAWAY.
    ///   - attempt: the circumstances of the attempt.
    /// - Returns: nil if the debug data says no more than that the request was not processed.
    func verdict(onGoodbye words: [UInt8], in attempt: AttemptContext) -> Verdict?

    /// Returns the provider's reason in its own words, safe to log; nil if it gives none.
    func reason(_ answer: PushAnswer) -> String?
}

extension ProviderAccess {
    /// Returns nil: only APNs is known to give a reason for closing a connection.
    package func verdict(onGoodbye words: [UInt8], in attempt: AttemptContext) -> Verdict? { nil }
}

/// The credential of a request.
package struct Credential: Sendable {
    /// The `authorization` field; nil if the credential is not a field, or differs by origin.
    package let authorization: String?
    /// The number of the credential among those of its key.
    package let generation: Int

    /// Makes a credential.
    package init(authorization: String?, generation: Int) {
        (self.authorization, self.generation) = (authorization, generation)
    }
}

/// Writes one provider's requests, on one thread.
package protocol RequestWriter: AnyObject {
    /// Writes the request for a delivery.
    ///
    /// - Parameters:
    ///   - tag: the caller's number for the request.
    ///   - delivery: the delivery.
    ///   - content: the content of its variant.
    ///   - heads: the header blocks of its batch.
    ///   - credential: the credential.
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

/// Why a delivery can never be sent and is refused; holds no data.
package struct RequestProblem: Error {
    package let why: String

    package init(_ why: String) {
        self.why = why
    }

    /// Runs a closure, and converts its error for a field that cannot be sent.
    package static func refusing<Value>(_ body: () throws(HeaderError) -> Value) throws(RequestProblem) -> Value {
        do throws(HeaderError) {
            return try body()
        } catch {
            throw RequestProblem("\(error)")
        }
    }
}
