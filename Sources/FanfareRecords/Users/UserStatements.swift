package import PostgresClient

extension SQL {
    /// Calls `fanfare.forget_user`.
    ///
    /// Binds: app, user.
    package static let forgetUser = Statement<Int64, String, String>(
        "forget_user",
        "SELECT fanfare.forget_user($1, $2)"
    )

    /// Reads which of some ids are no devices of an app, or not of one of its users.
    ///
    /// Binds: ids, app, user.
    package static let devicesOfOthers = Statement<Int64, [Int64], String, String?>(
        "devices_of_others",
        """
        SELECT i.id FROM unnest($1::bigint[]) AS i (id)
        WHERE NOT EXISTS (
            SELECT FROM fanfare.devices AS d
            WHERE d.id = i.id AND d.app_id = (SELECT a.id FROM fanfare.apps AS a WHERE a.name = $2)
                AND ($3::text IS NULL OR d.user_id = $3))
        """
    )
}
