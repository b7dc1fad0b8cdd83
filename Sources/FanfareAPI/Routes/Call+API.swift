internal import FanfareCore
internal import FanfareHTTP
internal import FanfareTools
internal import HTTPTypes
internal import PushCrypto
internal import Threading

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

    /// The trace that the request belongs to; nil if there is no valid `traceparent`.
    var trace: TraceContext? { headers[.known("traceparent")].flatMap { TraceContext(traceparent: $0) } }

    /// Returns a boolean of the query.
    ///
    /// - Parameter name: its name.
    /// - Returns: nil if it is missing.
    /// - Throws: a ``Problem`` if it is neither `true` nor `false`.
    func flag(_ name: String) throws -> Bool? {
        guard let text = query[name] else { return nil }
        guard let flag = Bool(text) else { throw Problem(.malformed, "\(name) is neither true nor false") }
        return flag
    }

    /// Runs `work` and adds the server's notices to its answer as `notes`, if there are any.
    ///
    /// A new app may be a misspelt one, and the notices tell the client so.
    ///
    /// - Parameter work: gets the database and returns an object.
    /// - Returns: the object with the notes.
    /// - Throws: what `work` throws.
    func noted(_ work: (ToolDatabase) async throws -> JSONValue) async throws -> JSONValue {
        let notes = Locked<[String]>([])
        let answer = try await work(database.telling { note in notes.withLock { $0.append(note) } })
        let heard = notes.withLock { $0 }
        guard !heard.isEmpty, var object = answer.objectValue else { return answer }
        object["notes"] = .array(heard.map { .string($0) })
        return .object(object)
    }

    /// Returns a reader of the members of the body.
    ///
    /// - Parameter orEmpty: whether a missing body counts as an empty object.
    /// - Returns: the reader.
    /// - Throws: a ``Problem`` if the body is not a JSON object.
    func fields(orEmpty: Bool = false) throws -> Fields {
        if orEmpty, body.isEmpty { return try Fields(.object(JSONObject())) }
        let type = (headers[.contentType] ?? "").prefix { $0 != ";" }.lowercased()
        // A page of another origin can send this type only after a preflight request.
        guard type.hasSuffix("json"), type.hasPrefix("application/") else {
            throw Problem(
                .unsupportedType,
                "the body is not declared as JSON",
                hint: "Send Content-Type: application/json."
            )
        }
        do {
            return try Fields(try JSONValue(parsing: body))
        } catch let error as JSONSyntaxError {
            throw Problem(.malformed, "the body is not JSON: \(error)")
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
