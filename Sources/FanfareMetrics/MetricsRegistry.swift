internal import Threading

/// The counters, gauges and histograms of this process: a swift-metrics backend that keeps the values in memory.
///
/// One name and one set of labels identify one series, independent of the order of the labels. Series are identified by
/// their exposed names, so that `a.b` and `a_b` are the same. A name has one kind. A request for the name as another
/// kind returns a handler that works but is not exposed (``MetricsSnapshot/refused``), because a wrong name must not
/// end a daemon.
///
/// Thread-safe.
public final class MetricsRegistry: Sendable {
    private struct Entry {
        let series: any Series
        /// The number of holders that have not destroyed the series.
        var holders: Int
    }

    private struct Family {
        let label: String
        let kind: MetricKind
        var entries: [[MetricLabel]: Entry] = [:]
    }

    private struct State {
        /// The families by name.
        var families: [String: Family] = [:]
        var refused: Set<String> = []
    }

    /// The descriptions by the name given to swift-metrics.
    private let descriptions: [String: MetricDescription]
    private let state = Locked(State())

    /// Makes an empty registry.
    ///
    /// - Parameter descriptions: the descriptions of metrics; the last of several for one label wins.
    public init(describing descriptions: [MetricDescription] = []) {
        self.descriptions = Dictionary(descriptions.map { ($0.label, $0) }) { $1 }
    }

    /// The present values.
    public var snapshot: MetricsSnapshot {
        let state = state.withLock { $0 }
        return MetricsSnapshot(
            families: state.families.sorted { $0.key < $1.key }.map { snapshot(of: $0.value, named: $0.key) },
            refused: state.refused.sorted()
        )
    }

    /// Returns the present values of one metric.
    ///
    /// - Parameter name: the exposed name, such as `fanfare_requests_total`.
    /// - Returns: nil if there is no such metric.
    public func family(_ name: String) -> MetricFamily? {
        state.withLock { $0.families[name] }.map { snapshot(of: $0, named: name) }
    }

    /// Returns the present values of a counter.
    ///
    /// - Parameter label: the name given to swift-metrics.
    /// - Returns: nil if there is no such counter.
    public func counter(_ label: String) -> MetricFamily? { family(ExpositionName.counter(label)) }

    /// Returns the present values of a timer.
    ///
    /// - Parameter label: the name given to swift-metrics.
    /// - Returns: nil if there is no such timer.
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

    /// Returns the bounds in a histogram's description.
    ///
    /// - Parameter label: the name given to swift-metrics.
    /// - Returns: nil if there is no description or it has no bounds.
    func bounds(of label: String) -> [Double]? { descriptions[label]?.bounds }

    /// Finds or makes a series.
    ///
    /// - Parameters:
    ///   - label: the name given to swift-metrics.
    ///   - kind: the metric's kind.
    ///   - id: the series' name and labels.
    ///   - make: makes the series; called under a lock.
    /// - Returns: the shared series, or, if the name has another kind, a private one that is not exposed.
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

    /// Removes a series when all its holders have destroyed it.
    ///
    /// - Parameter handler: the result of a `make` function; others are ignored.
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
