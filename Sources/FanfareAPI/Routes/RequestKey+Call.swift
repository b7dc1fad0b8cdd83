internal import FanfareCore
internal import FanfareHTTP
internal import FanfareTools
internal import HTTPTypes
internal import PushCrypto

extension Call {
    /// The idempotency key of the request: its `Idempotency-Key` header with its path and its body.
    ///
    /// For routes that would otherwise repeat an effect; other routes are idempotent by themselves.
    ///
    /// - Returns: the key; nil without the header.
    /// - Throws: 400 for an invalid key.
    var requestKey: RequestKey? {
        get throws {
            guard let key = headers[.idempotencyKey] else { return nil }
            guard (1...255).contains(key.utf8.count) else {
                throw Problem(.malformed, "Idempotency-Key has not 1 to 255 bytes")
            }
            return RequestKey(key, bodyHash: sha256(Array("\(path)\n".utf8) + body))
        }
    }
}

extension Answer {
    /// Creates the response to a request with an idempotency key.
    ///
    /// - Parameters:
    ///   - fate: the fate of the request.
    ///   - shown: creates the body from the result.
    /// - Throws: 409 while the first request with this key is in progress, 422 if the key belongs to another request.
    init<Value>(once fate: RequestFate<Value>, _ shown: (Value) -> JSONValue) throws {
        switch fate {
        case .done(let value): self.init(.accepted, shown(value))
        case .repeated(let value):
            self.init(.accepted, shown(value))
            headers[.idempotencyReplayed] = "true"
        case .running:
            let detail = "the first request with this Idempotency-Key is not done yet"
            throw Problem(.inUse, detail, hint: "Try again.", retryAfter: 1)
        case .keyReused:
            throw Problem(.keyReused, "this Idempotency-Key was used for another request", hint: "Use a new key.")
        }
    }
}

extension HTTPField.Name {
    /// The header with the idempotency key of a request.
    static let idempotencyKey = known("Idempotency-Key")
    /// The header that marks a response as that of the first request.
    static let idempotencyReplayed = known("Idempotency-Replayed")
}
