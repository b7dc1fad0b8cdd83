/// What this daemon has counted and found, for metrics, `fanfare.traffic` and `fanfare status`.
package struct Figures: Sendable {
    package let counters: PipelineCounters
    package let traffic: TrafficTally
    package let audit: AuditFigures

    /// Creates figures that continue the given counters.
    package init(_ counters: PipelineCounters) {
        self.counters = counters
        traffic = TrafficTally(counters)
        audit = AuditFigures(counters.metrics)
    }
}
