internal import FanfareConsoleView
internal import FanfareRecords
internal import FanfareTools
internal import PostgresClient

extension HealthPanel {
    /// Creates the panel of problems and passing checks.
    ///
    /// - Parameter status: the state in the database.
    init(_ status: StatusReport) {
        let ill = status.health.filter { !$0.isOK }
        let problems = ill.map { HealthProblem($0, at: status.now.microseconds) }
        self.init(
            isWell: ill.isEmpty,
            headline: ill.isEmpty
                ? "All \(FigureText.counted(Int64(status.health.count), "check")) passing"
                : "\(FigureText.counted(Int64(ill.count), "problem needs", "problems need")) attention",
            looked: Moment(status.now.microseconds, .second),
            // Red problems come first.
            problems: problems.filter { $0.tone == Tone.bad.rawValue }
                + problems.filter { $0.tone != Tone.bad.rawValue },
            checks: status.health.filter(\.isOK).map {
                HealthCheck(name: $0.name.replacing("_", with: " "), detail: $0.detail)
            }
        )
    }
}

extension HealthProblem {
    fileprivate init(_ row: HealthRow, at now: Int64) {
        let advice = HealthAdvice(row)
        self.init(
            row.name,
            advice.words,
            advice.tone,
            since: row.since.map { Moment($0.microseconds, .short) },
            lasting: row.since.map { FigureText.duration(Double(now - $0.microseconds) / 1_000_000) },
            steps: advice.steps
        )
    }
}
