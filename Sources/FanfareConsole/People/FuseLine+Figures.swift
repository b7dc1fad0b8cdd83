internal import FanfareConsoleReads
internal import FanfareConsoleView
internal import FanfareCore
internal import FanfareRecords
internal import FanfareTools
internal import PostgresClient

extension FuseLine {
    /// Shows a fuse.
    ///
    /// - Parameters:
    ///   - figures: the fuse's figures.
    ///   - health: the rows of `fanfare.health`, which have the time at which it blew.
    init(_ figures: PruneFuseFigures, _ health: [HealthRow]) {
        let (app, environment) = (figures.app, figures.environment)
        let alarm = health.first { $0.name == "alarm: prune_fuse/\(app)/\(environment)" }
        self.init(
            app: app,
            environment: environment,
            badge: figures.blownBy == nil ? Badge(.good, "OK") : Badge(.bad, "tripped"),
            words: Self.words(figures),
            since: figures.blownBy == nil ? nil : alarm?.since.map { Moment($0.microseconds, .short) },
            command: figures.blownBy == nil ? nil : "fanfare devices resume-pruning --app \(app)"
        )
    }

    private static func words(_ figures: PruneFuseFigures) -> String {
        let counts = figures.counts
        let answers = "\(FigureText.counted(Int64(counts.answers), "response")) in 10 min"
        switch figures.blownBy {
        case .weak?, .strong?:
            return
                "Too many tokens were reported invalid. Pruning is stopped until an operator fixes the cause and resumes it."
        case nil:
            let weak = FigureText.share(Int64(counts.weak), of: Int64(counts.answers))
            let strong = FigureText.share(Int64(counts.strong), of: Int64(counts.answers))
            return counts.answers == 0
                ? "No responses in 10 min."
                : """
                \(strong) of \(answers) reported invalid tokens (limit \(PruneFuse.strongPercent) %); inferred \(weak) \
                (limit \(PruneFuse.weakPercent) %).
                """
        }
    }
}
