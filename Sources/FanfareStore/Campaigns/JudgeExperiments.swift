package import PostgresClient

/// An experiment that is due to be evaluated, with the figures of its sample.
package struct DueExperiment: Sendable {
    package let runID: Int64
    package let app: String
    package let campaign: String
    package let eventID: Int64
    /// `hold` or `best`.
    package let unclear: String
    /// The variants with a weight, in the order of the definition; empty if no recipient waits any more.
    package let variants: [String]
    package let weights: [Int64]
    /// The people of each variant who count.
    package let people: [Int64]
    /// Those of them who opened the push, or who converted.
    package let successes: [Int64]
}

extension SQL {
    /// Reads the experiment that has been due for the longest time; no row if none is due.
    ///
    /// It reads the deliveries of the sample, of 500 batches at most.
    ///
    /// Binds: now.
    package static let experimentsDue = Statement<DueExperiment, Timestamp>(
        "experiments_due",
        """
        SELECT run_id, app, campaign, event_id, unclear, variants, weights, people, successes FROM fanfare.experiments_due($1::timestamptz)
        """,
        row: DueExperiment.init
    )

    /// Ends an experiment and sends to the rest of the audience; returns false if it had ended already.
    ///
    /// Binds: run, winner, figures.
    package static let settleExperiment = Statement<Bool, Int64, String?, String>(
        "settle_experiment",
        "SELECT fanfare.settle_experiment($1, $2, $3::jsonb)"
    )

    /// Stores the figures of an evaluation that was not clear.
    ///
    /// Binds: run, figures, detail, now.
    package static let holdExperiment = Statement<Void, Int64, String, String, Timestamp>(
        "hold_experiment",
        "SELECT fanfare.hold_experiment($1, $2::jsonb, $3, $4::timestamptz)"
    )
}
