internal import FanfareCore
package import PostgresClient

extension SQL {
    /// Whether a payload meets a rule's `when`, evaluated as in planning.
    ///
    /// Binds: payload, when.
    package static let judgeWhen = Statement<Bool, String, String>(
        "judge_when",
        "SELECT coalesce(jsonb_path_match_tz($1::jsonb, $2::jsonpath, '{}', true), false)"
    )
}
