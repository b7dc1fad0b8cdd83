internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareStore
internal import FanfareTools
internal import HTTPTypes
internal import PushCrypto

/// Something that the console can do: first it is shown what and how much, then it is done.
struct ConsoleAction: Sendable {
    /// As a route's: `/campaigns/{app}/{name}/pause`.
    let path: String
    /// What the console and a token must allow.
    let use: ConsoleUse
    /// Says what it would do, and to how much.
    let ask: @Sendable (Visit, ActionForm) async throws -> ConfirmPage
    /// Does it; the database has the rights of the scope.
    let perform: @Sendable (Visit, ToolDatabase, _ fields: [String: String]) async throws -> ActionOutcome

    /// What was typed as the reason.
    private static func reason(in fields: [String: String]) -> String? {
        guard let text = fields["reason"]?.replacing("\0", with: "").trimmed else { return nil }
        return String(text.prefix(200))
    }

    /// Asking by GET, doing by POST.
    var routes: [Route] {
        [
            Route(.get, path, nil) { call in
                await call.asPage {
                    let visit = try await Visit(call, kind: nil)
                    try visit.require(use)
                    let page = try await ask(visit, ActionForm(visit))
                    return .page(Console.templates.render("confirm", page))
                }
            },
            Route(.post, path, nil) { call in
                await call.asPage {
                    let fields = try call.form()
                    let visit = try await Visit(call, kind: nil)
                    try visit.require(use)
                    try await visit.session.check(seal: fields["seal"] ?? "", of: call.path, call)
                    let database = call.context.database.acting(
                        for: ToolCaller(
                            scope: use.scope,
                            actor: visit.session.token.row.name,
                            tokenID: visit.session.token.row.id,
                            requestID: call.requestID,
                            reason: Self.reason(in: fields)
                        )
                    )
                    switch try await perform(visit, database, fields) {
                    case .done(let code, let path, let query):
                        return .redirect(to: PageAddress(path, query.merging(["did": code]) { $1 }).text, call)
                    case .page(let html): return .page(html)
                    }
                }
            },
        ]
    }
}

/// What came of an action.
enum ActionOutcome: Sendable {
    /// It is done: a code of ``ConsoleDone``, and path and query of the page that shows it.
    case done(String, at: String, _ query: [String: String] = [:])
    /// A page instead, such as the question once more where the count has changed.
    case page(String)
}

/// What the form of a question needs.
struct ActionForm: Sendable {
    /// Where it is sent.
    let action: String
    /// Proof that this session was shown it.
    let seal: String
    /// By what it is known when it is sent twice.
    let nonce: String

    init(_ visit: Visit) async throws {
        action = visit.call.path
        seal = try await visit.session.seal(visit.call.path, visit.call)
        nonce = Base64URL.encode(try randomBytes(16))
    }
}

extension RequestKey {
    /// By what a form is known that is sent twice.
    ///
    /// - Parameters:
    ///   - fields: of the form, the ``ActionForm/nonce`` among them.
    ///   - path: where it was sent.
    /// - Throws: a ``Problem`` for a form that this console did not write.
    init(form fields: [String: String], of path: String) throws {
        guard let nonce = fields["nonce"], (1...64).contains(nonce.utf8.count) else {
            throw Problem(.malformed, "the form is not complete", hint: "Load its page again.")
        }
        // Another reason makes it no other request.
        let asked = PageAddress(path, fields.filter { !["nonce", "seal", "reason"].contains($0.key) }).text
        self.init("console \(nonce)", bodyHash: sha256(Array(asked.utf8)))
    }
}
