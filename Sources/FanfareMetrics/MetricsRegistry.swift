internal import Threading

/// The counters, gauges and histograms of this process: a backend of swift-metrics that keeps values for whoever reads them.
///
/// One name and one set of labels are one series, whoever makes it and in whatever order its labels come; series are found by
/// what they are called outside, so that `a.b` and `a_b` are the same. A name has one kind: what asks for it as another gets a
/// handler that works and is not shown (``MetricsSnapshot/refused``), since a wrong name must not end a daemon.
///
/// All of it may be used on any thread.
public final class MetricsRegistry: Sendable {
    private struct Entry {
        let series: any Series
        /// How many were made of it and not destroyed.
        var holders: Int
    }

    private struct Family {
        let label: String
        let kind: MetricKind
        var entries: [[MetricLabel]: Entry] = [:]
    }

    private struct State {
        /// By name.
        var families: [String: Family] = [:]
        var refused: Set<String> = []
    }

    /// By what swift-metrics is given.
    private let descriptions: [String: MetricDescription]
    private let state = Locked(State())

    /// Makes an empty registry.
    ///
    /// - Parameter descriptions: of metrics to come; of two with one label the last counts.
    public init(describing descriptions: [MetricDescription] = []) {
        self.descriptions = Dictionary(descriptions.map { ($0.label, $0) }) { $1 }
    }

    /// All values now.
    public var snapshot: MetricsSnapshot {
        let state = state.withLock { $0 }
        return MetricsSnapshot(
            families: state.families.sorted { $0.key < $1.key }.map { snapshot(of: $0.value, named: $0.key) },
            refused: state.refused.sorted()
        )
    }

    /// The values of one metric now.
    ///
    /// - Parameter name: what it is called outside, as `fanfare_requests_total`.
    /// - Returns: nil if there is none.
    public func family(_ name: String) -> MetricFamily? {
        state.withLock { $0.families[name] }.map { snapshot(of: $0, named: name) }
    }

    /// The values of a counter now.
    ///
    /// - Parameter label: as swift-metrics was given it.
    /// - Returns: nil if there is none.
    public func counter(_ label: String) -> MetricFamily? { family(ExpositionName.counter(label)) }

    /// The values of a timer now.
    ///
    /// - Parameter label: as swift-metrics was given it.
    /// - Returns: nil if there is none.
    public func timer(_ label: String) -> MetricFamily? { family(ExpositionName.of(label, suffix: "_seconds")) }

    private func snapshot(of family: Family, named name: String) -> MetricFamily {
        MetricFamily(
            name: name,
            label: family.label,
            kind: family.kind,
            help: descriptions[family.label]?.help ?? "",
            series: family.entries.sorted { $0.key.lexicographicallyPrecedes($1.key) }
                .map { MetricSeries(labels: $0.key, value: $0.value.series.value) }
        )
    }

    /// The bounds that a histogram is described with.
    ///
    /// - Parameter label: as swift-metrics was given it.
    /// - Returns: nil if it is not described, or without bounds.
    func bounds(of label: String) -> [Double]? { descriptions[label]?.bounds }

    /// Finds a series, or makes it.
    ///
    /// - Parameters:
    ///   - label: as swift-metrics was given it.
    ///   - kind: what its values mean.
    ///   - id: its name and labels.
    ///   - make: makes the series; called under a lock.
    /// - Returns: the one series there is, or, where the name has another kind, one that nobody else sees.
    func series<Found: Series>(_ label: String, _ kind: MetricKind, _ id: SeriesID, make: (SeriesID) -> Found) -> Found
    {
        state.withLock { state in
            var family = state.families[id.family] ?? Family(label: label, kind: kind)
            var entry = family.entries[id.labels] ?? Entry(series: make(id), holders: 0)
            guard family.kind == kind, let found = entry.series as? Found else {
                state.refused.insert(id.family)
                return make(id)
            }
            entry.holders += 1
            family.entries[id.labels] = entry
            state.families[id.family] = family
            return found
        }
    }

    /// Forgets a series once everybody who made it has said that it is not used any more.
    ///
    /// - Parameter handler: what a `make` function returned; anything else is ignored.
    func destroy(_ handler: AnyObject) {
        guard let series = handler as? any Series else { return }
        let id = series.id
        state.withLock { state in
            guard var entry = state.families[id.family]?.entries[id.labels], entry.series === series else { return }
            entry.holders -= 1
            state.families[id.family]?.entries[id.labels] = entry.holders > 0 ? entry : nil
            if state.families[id.family]?.entries.isEmpty ?? false { state.families[id.family] = nil }
        }
    }
}
