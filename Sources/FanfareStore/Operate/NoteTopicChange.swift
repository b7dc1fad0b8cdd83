package import PostgresClient

/// How far a change of one of FCM's own topics has come.
package struct StoredTopicChange: Sendable {
    /// The highest id up to which every selected device is done.
    package let device: Int64
    /// The counts, as they were stored.
    package let counts: String
    /// Whether every selected device is done.
    package let isFinished: Bool
}

extension SQL {
    /// Calls `fanfare.note_topic_change`.
    ///
    /// Binds: app, operation, topic, fingerprint, device, counts, isFinished.
    package static let noteTopicChange = Statement<Void, String, String, String, [UInt8], Int64, String, Bool>(
        "note_topic_change",
        "SELECT fanfare.note_topic_change($1, $2, $3, $4, $5, $6::jsonb, $7)"
    )

    /// Reads how far a change has come.
    ///
    /// Binds: app, operation, topic, fingerprint.
    package static let findTopicChange = Statement<StoredTopicChange, String, String, String, [UInt8]>(
        "find_topic_change",
        """
        SELECT c.device_id, c.counts::text, c.finished_at IS NOT NULL
        FROM fanfare.topic_changes AS c
        WHERE c.app = $1 AND c.operation = $2 AND c.topic = $3 AND c.fingerprint = $4
        """,
        row: StoredTopicChange.init
    )

    /// Deletes the progress of changes that did not advance for a month; the same change then starts over.
    package static let forgetTopicChanges = Statement<Void>(
        "forget_topic_changes",
        """
        DELETE FROM fanfare.topic_changes WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM fanfare.topic_changes WHERE noted_at < statement_timestamp() - interval '30 days'
            LIMIT \(Forgetting.limit) FOR UPDATE SKIP LOCKED))
        """
    )
}
