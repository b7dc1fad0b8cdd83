internal import FanfareCore
internal import FanfareTools
internal import HTTPTypes
internal import NIOCore
internal import Threading

/// One request, as its route sees it.
struct Call: Sendable {
    let context: APIContext
    /// The database, acting for the request's token; for a route without a token, acting for the daemon.
    let database: ToolDatabase
    /// The user of a phone token, who may read and change only their own data; nil for one of Fanfare's own tokens.
    let phone: PhoneUser?
    /// The id of Fanfare's own token; nil for a phone token and for a request without one.
    let tokenID: Int32?
    /// The connection of the request; nil for none.
    let channel: (any Channel)?
    /// The id in the log lines of the request.
    let requestID: String
    /// The values of the names in the route's path.
    var names: [String: String]
    /// The decoded query; the last value of a repeated name counts.
    var query: [String: String]
    let headers: HTTPFields
    /// The body as received; empty if there is none.
    var body: [UInt8]
    /// The path as it was sent.
    var path: String
    /// The host that the request names.
    let authority: String?

    /// The trace that the request belongs to; nil if there is no valid `traceparent`.
    var trace: TraceContext? {
        HTTPField.Name("traceparent").flatMap { headers[$0] }.flatMap { TraceContext(traceparent: $0) }
    }

    /// Returns the text of a name in the path.
    ///
    /// - Parameter name: the name, which the route has in braces.
    /// - Returns: the decoded text.
    func name(_ name: String) -> String {
        guard let text = names[name] else { preconditionFailure("the route has no {\(name)}") }
        return text
    }

    /// Returns the id that a name in the path stands for.
    ///
    /// - Parameter name: the name, which the route has in braces.
    /// - Returns: the id.
    /// - Throws: a ``Problem`` with status 404 if the text is not a positive number, because every id is one.
    func id(_ name: String) throws -> Int64 {
        guard let id = Int64(self.name(name)), id > 0 else {
            throw Problem(.absent, "{\(name)} in the path is not an id")
        }
        return id
    }

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
