internal import FanfareCore
package import PostgresClient

/// Whether a payload meets a rule's `when`, evaluated as in planning.
package struct JudgeWhen: PostgresStatement {
    package static let name = "judge_when"
    package static let sql = "SELECT coalesce(jsonb_path_match_tz($1::jsonb, $2::jsonpath, '{}', true), false)"

    package let payload: String
    package let when: String

    package init(payload: String, when: String) {
        self.payload = payload
        self.when = when
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(payload)
        binds.append(when)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Bool {
        try row.bool(0)
    }
}
