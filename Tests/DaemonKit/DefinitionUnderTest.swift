import PostgresClient
import TestKit
import Testing

@testable import FanfareCampaigns
@testable import FanfareCore

/// A rule or a campaign with some members of interest, which SQL and the daemon must judge alike.
struct DefinitionUnderTest {
    /// `rule` or `campaign`.
    let kind: String
    /// The definition.
    let json: String

    init(_ kind: String, _ members: String) {
        self.kind = kind
        let event = kind == "rule" ? #""event": "e", "# : ""
        json =
            #"{"app": "shop", "name": "n", \#(event)"to": {"everyone": true}, "message": {"data": {"a": "b"}}, "#
            + "\(members)}"
    }

    /// Returns the error that the daemon finds in a definition; nil if there is none.
    static func problem(_ kind: String, _ json: String) throws -> RuleProblem? {
        let json = try JSONValue(parsing: json)
        do throws(RuleProblem) {
            if kind == "rule" { _ = try RuleDefinition(json: json) } else { _ = try CampaignDefinition(json: json) }
            return nil
        } catch {
            return error
        }
    }

    /// Expects that both refuse it at the same place, for the same reason and with the same hint.
    func isRefused(at place: String, _ reason: String) throws {
        let connection = try TestDatabase.current.connect()
        let inSQL = try connection.query("SELECT place, reason, hint FROM fanfare.\(kind)_error($1::jsonb)", json).rows[
            0
        ]
        let problem = try #require(try Self.problem(kind, json))
        #expect(inSQL == [place, reason, problem.hint])
        #expect([problem.path, problem.reason] == [place, reason])
        let refusal = #expect(throws: PostgresError.self) {
            try connection.query("SELECT fanfare.put_\(kind)($1::jsonb)", json)
        }
        #expect(refusal?.sqlState == "22023" && refusal?.hint == problem.hint)
    }

    /// Expects that both accept it, and that the daemon writes it as it was read.
    func isKept() throws {
        let read = try JSONValue(parsing: json)
        let written = kind == "rule" ? try RuleDefinition(json: read).json : try CampaignDefinition(json: read).json
        #expect(written == read)
        let connection = try TestDatabase.current.connect()
        #expect(try connection.text("SELECT reason IS NULL FROM fanfare.\(kind)_error($1::jsonb)", json) == "t")
    }
}
