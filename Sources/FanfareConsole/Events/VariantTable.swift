internal import FanfareConsoleReads
internal import FanfareConsoleView

/// The outcomes of an event by variant of its message; no rows if no rule has variants.
struct VariantTable: ViewContext {
    let rows: [VariantLine]
    /// The part that was counted; nil if everything was.
    let note: String?
}

extension VariantTable {
    /// Shows the outcomes of each variant.
    ///
    /// - Parameters:
    ///   - counts: the counts so far.
    ///   - whole: the number of recipients; nil if unknown.
    init(_ counts: VariantCounts, of whole: Int64?) {
        let groups = Dictionary(grouping: counts.counts) { [$0.key.rule, $0.key.variant ?? ""] }
        let isDivided = counts.counts.keys.contains { $0.variant != nil }
        let lines = groups.sorted { ($0.key[0], $0.key[1]) < ($1.key[0], $1.key[1]) }.map { group in
            VariantLine(group.key, Dictionary(group.value.map { ($0.key.outcome, $0.value) }) { $0 + $1 })
        }
        var note: String?
        if isDivided, !counts.isAll {
            let all = whole.map { " of \(FigureText.count(max($0, counts.total)))" } ?? ""
            note =
                "Counted so far: \(FigureText.count(counts.total))\(all) recipients. Users are assigned at random: these shares are "
                + "close to those of all. Reloading this page continues the count."
        }
        self.init(rows: isDivided ? lines : [], note: note)
    }
}

/// One variant, or the hold-out group.
struct VariantLine: ViewContext {
    let rule: String
    let name: String
    let recipients: String
    let accepted: String
    let failed: String
    let share: String
    let bar: Markup
}

extension VariantLine {
    /// Shows the outcomes of one variant.
    ///
    /// - Parameters:
    ///   - names: the names of the rule and the variant.
    ///   - outcomes: the count of each outcome.
    fileprivate init(_ names: [String], _ outcomes: [String: Int64]) {
        let whole = outcomes.values.reduce(0, +)
        let parts = Dictionary(grouping: outcomes) { PushText.kind($0.key) }.mapValues {
            $0.reduce(0) { $0 + $1.value }
        }
        let accepted = parts[.accepted] ?? 0
        let isHeldOut = outcomes["held_out"] == whole
        let kinds: [ChartKind] = [.accepted, .retrying, .gone, .rejected, .own]
        self.init(
            rule: names[0],
            name: names[1].isEmpty ? "none" : names[1],
            recipients: FigureText.count(whole),
            accepted: isHeldOut ? "–" : FigureText.count(accepted),
            failed: isHeldOut ? "–" : FigureText.count((parts[.gone] ?? 0) + (parts[.rejected] ?? 0)),
            share: isHeldOut ? "got nothing" : FigureText.share(accepted, of: whole),
            bar: ShareBar.markup(kinds.map { ($0, parts[$0] ?? 0) }, of: whole)
        )
    }
}
