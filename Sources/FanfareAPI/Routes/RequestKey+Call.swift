internal import FanfareCore
internal import FanfareTools
internal import HTTPTypes
internal import PushCrypto

extension Call {
    /// By what the request is known if it comes twice: its `Idempotency-Key`, with its path and its body.
    ///
    /// For whatever would be done twice otherwise; other routes come to the same however often they are asked.
    ///
    /// - Returns: nil without the header.
    /// - Throws: 400 for a key that is none.
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
    /// What came of a request that may come twice.
    ///
    /// - Parameters:
    ///   - fate: what came of it.
    ///   - shown: makes the body of what was done.
    /// - Throws: 409 while the first such request is being done, 422 where the key is another request's.
    init<Value>(once fate: RequestFate<Value>, _ shown: (Value) -> JSONValue) throws {
        switch fate {
        case .done(let value): self.init(.accepted, shown(value))
        case .repeated(let value):
            self.init(.accepted, shown(value))
            headers[.idempotencyReplayed] = "true"
        case .running:
            let detail = "the first request with this Idempotency-Key is not done yet"
            var problem = Problem(.inUse, detail, hint: "Try again.")
            problem.retryAfter = 1
            throw problem
        case .keyReused:
            throw Problem(.keyReused, "this Idempotency-Key was used for another request", hint: "Use a new key.")
        }
    }
}

extension HTTPField.Name {
    /// By which a request is known that comes twice.
    static var idempotencyKey: Self { idempotency.key }
    /// Tells that an answer is that of the first request.
    static var idempotencyReplayed: Self { idempotency.replayed }

    private static let idempotency = (
        key: HTTPField.Name("Idempotency-Key") ?? .server, replayed: HTTPField.Name("Idempotency-Replayed") ?? .server
    )
}
