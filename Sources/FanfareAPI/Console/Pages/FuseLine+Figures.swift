internal import FanfareCore
internal import FanfareStore
internal import FanfareTools
internal import PostgresClient

extension FuseLine {
    /// Shows a fuse.
    ///
    /// - Parameters:
    ///   - figures: of the fuse.
    ///   - health: has since when it is blown.
    init(_ figures: PruneFuseFigures, _ health: [HealthRow]) {
        let (app, environment) = (figures.app, figures.environment)
        let alarm = health.first { $0.name == "alarm: prune_fuse/\(app)/\(environment)" }
        self.init(
            app: app,
            environment: environment,
            badge: figures.blownBy == nil ? Badge(.good, "whole") : Badge(.bad, "blown"),
            words: Self.words(figures),
            since: figures.blownBy == nil ? nil : alarm?.since.map { Moment($0.microseconds, .short) },
            command: figures.blownBy == nil ? nil : "fanfare devices resume-pruning --app \(app)"
        )
    }

    private static func words(_ figures: PruneFuseFigures) -> String {
        let counts = figures.counts
        let answers = "\(FigureText.counted(Int64(counts.answers), "answer")) in 10 min"
        switch figures.blownBy {
        case .weak?, .strong?:
            return
                "Too many tokens seemed dead: nothing is pruned until somebody has looked, mended, and lets it go on."
        case nil:
            let weak = FigureText.share(Int64(counts.weak), of: Int64(counts.answers))
            let strong = FigureText.share(Int64(counts.strong), of: Int64(counts.answers))
            return counts.answers == 0
                ? "No answer in 10 min."
                : """
                Dead by \(strong) of \(answers), at most \(PruneFuse.strongPercent) %; on weak evidence \(weak), at most \
                \(PruneFuse.weakPercent) %.
                """
        }
    }
}
