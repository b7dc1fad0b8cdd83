/// The part of statements that close batches that stores feedback for hooks.
enum FeedbackNote {
    /// Returns the CTE `noted`: batches with an outcome that some hook wants.
    ///
    /// If there is no hook, none of it is executed.
    ///
    /// It uses an array: the plans of queues join by nested loops, which would read all outcomes for each batch.
    ///
    /// - Parameters:
    ///   - batches: the CTE that returns the ids of the batches that are closed.
    ///   - outcomes: a query's text from FROM on, with a batch as `t.batch_id` and one of its codes as `t.outcome`.
    /// - Returns: the CTE's text, without a trailing comma.
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
