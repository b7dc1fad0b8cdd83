import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareCore

/// PostgreSQL and the daemon find the same error in the keys of a definition.
@Suite(.database)
struct DefinitionKeyTests {
    private static let values = [
        "null", "true", "false", "7", "0.5", "-1", "1e9", "\"\"", "\"?\"", "\"off\"", "\"5%\"", "\"10m\"", "\"400d\"",
        "\"500/s\"", "\"22:00\"",
        "\"2026-12-01T09:00\"", "\"UTC\"", "[]", "[7]", "[\"a\"]", "{}", "{\"?\": 1}", "{\"fcm\": 1}",
    ]

    @Test(arguments: DefinitionObject.written)
    func eachValueIsJudgedAlike(object: DefinitionObject) throws {
        let connection = try TestDatabase.current.connect()
        for key in object.keys {
            for value in Self.values where !key.form.isCheckedFurther(value) {
                let json = "{\"\(key.name)\": \(value)}"
                let inSQL = try connection.query(
                    "SELECT place, reason FROM fanfare.definition_error($1, $2::jsonb, '')",
                    object.rawValue,
                    json
                ).rows[0]
                let problem = try problem(object, json)
                #expect(inSQL == [problem?.path, problem?.reason], "\(object): \(json)")
            }
        }
    }

    @Test func theKeysInTheDatabaseAreTheDaemons() throws {
        let connection = try TestDatabase.current.connect()
        let stored = try connection.column(
            "SELECT object || '.' || key FROM fanfare.definition_keys ORDER BY object, position"
        )
        let known = DefinitionObject.written.sorted { $0.rawValue < $1.rawValue }
            .flatMap { object in object.keys.map { "\(object.rawValue).\($0.name)" } }
        #expect(stored == known)
    }

    private func problem(_ object: DefinitionObject, _ json: String) throws -> RuleProblem? {
        let definition = try #require(JSONValue(parsing: json).objectValue)
        do throws(RuleProblem) {
            try object.check(definition)
            return nil
        } catch {
            return error
        }
    }
}

extension DefinitionForm {
    /// Whether PostgreSQL alone can judge a string of this form: it parses jsonpaths, and it knows time zones and providers.
    fileprivate func isCheckedFurther(_ value: String) -> Bool {
        switch self {
        case .jsonpath, .predicate, .timeZone: value.hasPrefix("\"")
        case .providers: value.hasPrefix("{\"?")
        default: false
        }
    }
}
