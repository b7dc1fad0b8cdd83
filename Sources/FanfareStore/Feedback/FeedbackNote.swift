/// What a statement that closes batches does for feedback hooks.
enum FeedbackNote {
    /// The CTE `noted`: batches with an outcome that some hook wants.
    ///
    /// Where there is no hook, nothing of it is run.
    ///
    /// Looked up by an array: the plans of queues join by loops, which would go through all outcomes for each batch.
    ///
    /// - Parameters:
    ///   - batches: the part of the statement that returns the ids of batches that are closed.
    ///   - outcomes: a query's text from its FROM on, with a batch as `t.batch_id` and a code of it as `t.outcome`.
    /// - Returns: its text, without a comma behind it.
    static func sql(of batches: String, from outcomes: String) -> String {
        """
        noted AS (
            INSERT INTO fanfare.feedback (batch_id)
            SELECT c.id FROM \(batches) AS c
            WHERE EXISTS (SELECT FROM fanfare.feedback_hooks) AND c.id = ANY (ARRAY(
                SELECT t.batch_id FROM \(outcomes)
                WHERE t.outcome = ANY (ARRAY(SELECT unnest(h.codes) FROM fanfare.feedback_hooks AS h))))
        )
        """
    }
}
