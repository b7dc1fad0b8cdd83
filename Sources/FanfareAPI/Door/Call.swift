internal import FanfareCore
internal import FanfareTools
internal import HTTPTypes
internal import NIOCore
internal import Threading

/// One request, as its route sees it.
struct Call: Sendable {
    let context: APIContext
    /// The database, on behalf of the request's token; of a route that asks for none, as the daemon.
    let database: ToolDatabase
    /// Whose phone asks, who may touch what is his only; nil for who has a token of Fanfare's own.
    let phone: PhoneUser?
    /// The id of Fanfare's own token; nil for a phone's, and for none.
    let tokenID: Int32?
    /// On which connection it came; nil for none.
    let channel: (any Channel)?
    /// By which log lines are found.
    let requestID: String
    /// What stands in the place of the path's names.
    var names: [String: String]
    /// The query, decoded; of a name that comes twice the last counts.
    var query: [String: String]
    let headers: HTTPFields
    /// As it came; empty where there is none.
    var body: [UInt8]
    /// The path as it was sent.
    var path: String
    /// The host that the request names.
    let authority: String?

    /// The trace that the request is a part of; nil for none, and for whatever is no `traceparent`.
    var trace: TraceContext? {
        HTTPField.Name("traceparent").flatMap { headers[$0] }.flatMap { TraceContext(traceparent: $0) }
    }

    /// A part of the path.
    ///
    /// - Parameter name: as the route has it in braces.
    /// - Returns: its text.
    func name(_ name: String) -> String {
        guard let text = names[name] else { preconditionFailure("the route has no {\(name)}") }
        return text
    }

    /// A part of the path that is a number.
    ///
    /// - Parameter name: as the route has it in braces.
    /// - Returns: the id.
    /// - Throws: 404: nothing has another id.
    func id(_ name: String) throws -> Int64 {
        guard let id = Int64(self.name(name)), id > 0 else { throw Problem(.absent, "{\(name)} in the path is no id") }
        return id
    }

    /// A truth value of the query.
    ///
    /// - Parameter name: which.
    /// - Returns: nil if it is not there.
    /// - Throws: a ``Problem`` if it is neither `true` nor `false`.
    func flag(_ name: String) throws -> Bool? {
        guard let text = query[name] else { return nil }
        guard let flag = Bool(text) else { throw Problem(.malformed, "\(name) is neither true nor false") }
        return flag
    }

    /// Does something, and answers with what came of it, and as `notes` with what the server had to say where it had.
    ///
    /// An app that is new may be one that is misspelt; who reads its answer should learn that.
    ///
    /// - Parameter work: gets the database; what it returns is an object.
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

    /// The members of the body.
    ///
    /// - Parameter orEmpty: whether a body that is not there is an empty object.
    /// - Returns: what reads them.
    /// - Throws: a ``Problem`` if it is no JSON object.
    func fields(orEmpty: Bool = false) throws -> Fields {
        if orEmpty, body.isEmpty { return try Fields(.object(JSONObject())) }
        let type = (headers[.contentType] ?? "").prefix { $0 != ";" }.lowercased()
        // A page of another origin can send no other type without being asked first.
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
