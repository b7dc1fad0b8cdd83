internal import FanfareConfiguration
internal import FanfareConsoleView
internal import FanfareCore
internal import FanfareHTTP
internal import FanfareRecords
internal import FanfareStore
internal import FanfareTools
internal import HTTPTypes
internal import PushCrypto

/// An action of the console: a confirmation that shows its effect and size, then the change.
struct ConsoleAction: Sendable {
    /// The path as in routes: `/campaigns/{app}/{name}/pause`.
    let path: String
    /// The right that the console and the token must allow.
    let use: ConsoleUse
    /// Creates the confirmation.
    let ask: @Sendable (Visit, ActionForm) async throws -> ConfirmPage
    /// Performs the action on a database session with the rights of the scope.
    let perform: @Sendable (Visit, ToolDatabase, _ fields: [String: String]) async throws -> ActionOutcome

    /// Returns the reason that was typed.
    private static func reason(in fields: [String: String]) -> String? {
        guard let text = fields["reason"]?.replacing("\0", with: "").trimmed else { return nil }
        return String(text.prefix(200))
    }

    /// Returns the routes: GET for the confirmation, POST for the action.
    func routes(_ queries: ConsoleQueries) -> [Route] {
        [
            Route.page(path) { call in
                let visit = try await Visit(call, queries)
                try visit.require(use)
                let page = try await ask(visit, ActionForm(visit))
                return .page(Console.templates.render("confirm", page))
            },
            Route.form(path) { call in
                let fields = try call.form()
                let visit = try await Visit(call, queries)
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
            },
        ]
    }
}

/// The page that confirms an action and shows its effect.
struct ConfirmPage: ViewContext {
    /// The frame; its title is the question, such as `Restore 1,204 devices?`.
    let frame: Frame
    /// The effect, in a sentence.
    let words: String
    /// The number of affected objects: `1,204`, with its noun.
    let count: String
    let counted: String
    /// The part of the effect that cannot be undone.
    var warning: String? = nil
    var facts: [Fact] = []
    /// Some of the affected objects.
    var samples: SampleTable? = nil
    /// The address that the form is sent to.
    let action: String
    /// The filter, and the count that was shown: if the count has changed, the confirmation is asked for again.
    var kept: [HiddenField] = []
    /// The variant that the rest of an experiment's audience gets; nil for other actions.
    var winner: FilterField? = nil
    /// The proof that this browser was shown this page.
    let seal: String
    /// The button's text, such as `Restore 1,204 devices`.
    let verb: String
    let isDangerous: Bool
    /// Whether the action is not possible; there is no button then.
    let isImpossible: Bool
    /// The link back to the page before.
    let cancel: String
}

/// Some of the objects that an action affects.
struct SampleTable: ViewContext {
    let heads: [String]
    let rows: [SampleLine]
}

/// A row of the table.
struct SampleLine: ViewContext {
    let cells: [String]
}

/// The result of an action.
enum ActionOutcome: Sendable {
    /// The action is done: a code that ``Notice/init(done:)`` knows, and path and query of the page that shows the result.
    case done(String, at: String, _ query: [String: String] = [:])
    /// A page instead, such as another confirmation because the count has changed.
    case page(String)
}

/// The form of a confirmation.
struct ActionForm: Sendable {
    /// The address that the form is sent to.
    let action: String
    /// The proof that this session was shown the form.
    let seal: String
    /// The number that identifies the form if it is sent twice.
    let nonce: String

    init(_ visit: Visit) async throws {
        action = visit.call.path
        seal = try await visit.session.seal(visit.call.path, visit.call)
        nonce = Base64URL.encode(try randomBytes(16))
    }
}

extension RequestKey {
    /// Derives the idempotency key from a form.
    ///
    /// - Parameters:
    ///   - fields: the form's fields, with the ``ActionForm/nonce``.
    ///   - path: the path that it was sent to.
    /// - Throws: a ``Problem`` for a form that this console did not write.
    init(form fields: [String: String], of path: String) throws {
        guard let nonce = fields["nonce"], (1...64).contains(nonce.utf8.count) else {
            throw Problem(.malformed, "the form is not complete", hint: "Load its page again.")
        }
        // Another reason does not make another request.
        let asked = PageAddress(path, fields.filter { !["nonce", "seal", "reason"].contains($0.key) }).text
        self.init("console \(nonce)", bodyHash: sha256(Array(asked.utf8)))
    }
}
