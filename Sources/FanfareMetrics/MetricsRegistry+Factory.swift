public import CoreMetrics

/// What swift-metrics asks of a backend.
///
/// Counters are called `…_total` outside, and timers, which are kept in seconds, `…_seconds`.
extension MetricsRegistry: MetricsFactory {
    /// Finds or makes a counter of whole things.
    ///
    /// - Parameters:
    ///   - label: its name, with dots.
    ///   - dimensions: its labels, in any order.
    /// - Returns: ignores less than nothing, and stays at the largest number there is.
    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        counter(label, dimensions)
    }

    /// Finds or makes a counter of fractions; the same series as the counter of that name.
    ///
    /// - Parameters:
    ///   - label: its name, with dots.
    ///   - dimensions: its labels, in any order.
    /// - Returns: ignores what is no finite number above zero.
    public func makeFloatingPointCounter(
        label: String,
        dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        counter(label, dimensions)
    }

    /// Finds or makes a gauge that can also be raised and lowered.
    ///
    /// - Parameters:
    ///   - label: its name, with dots.
    ///   - dimensions: its labels, in any order.
    /// - Returns: the same series as the `Gauge` of that name.
    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        gauge(label, dimensions)
    }

    /// Finds or makes a gauge, or a histogram of amounts.
    ///
    /// - Parameters:
    ///   - label: its name, with dots.
    ///   - dimensions: its labels, in any order.
    ///   - aggregate: whether it is a histogram.
    /// - Returns: with the bounds that the metric is described with, or 1 to 1,048,576 in steps of four.
    public func makeRecorder(
        label: String,
        dimensions: [(String, String)],
        aggregate: Bool
    ) -> any RecorderHandler {
        guard aggregate else { return gauge(label, dimensions) }
        return histogram(label, dimensions, suffix: "", bounds: HistogramSeries.amountBounds)
    }

    /// Finds or makes a histogram of durations.
    ///
    /// - Parameters:
    ///   - label: its name, with dots.
    ///   - dimensions: its labels, in any order.
    /// - Returns: with the bounds that the metric is described with, or 1 ms to 5 min. The unit to display is ignored: it is
    ///   always seconds.
    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        histogram(label, dimensions, suffix: "_seconds", bounds: HistogramSeries.durationBounds)
    }

    /// Finds or makes a histogram of durations that takes exemplars, and values in sets, which swift-metrics' timers do not.
    ///
    /// - Parameters:
    ///   - label: its name, with dots.
    ///   - dimensions: its labels, in any order.
    ///   - bounds: its buckets' where the metric is not described with others; nil for the registry's own.
    /// - Returns: the one that a timer of this name is; takes seconds.
    public func durations(
        _ label: String,
        _ dimensions: [(String, String)],
        bounds: [Double]? = nil
    ) -> HistogramSeries {
        histogram(label, dimensions, suffix: "_seconds", bounds: bounds ?? HistogramSeries.durationBounds)
    }

    /// Forgets a counter once all who made it have destroyed it; one made afterwards begins at zero.
    ///
    /// - Parameter handler: a counter of this registry; others are ignored.
    public func destroyCounter(_ handler: any CounterHandler) { destroy(handler) }

    /// Forgets a counter once all who made it have destroyed it.
    ///
    /// - Parameter handler: a counter of this registry; others are ignored.
    public func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) { destroy(handler) }

    /// Forgets a gauge once all who made it have destroyed it.
    ///
    /// - Parameter handler: a gauge of this registry; others are ignored.
    public func destroyMeter(_ handler: any MeterHandler) { destroy(handler) }

    /// Forgets a gauge or histogram once all who made it have destroyed it.
    ///
    /// - Parameter handler: one of this registry; others are ignored.
    public func destroyRecorder(_ handler: any RecorderHandler) { destroy(handler) }

    /// Forgets a histogram once all who made it have destroyed it.
    ///
    /// - Parameter handler: one of this registry; others are ignored.
    public func destroyTimer(_ handler: any TimerHandler) { destroy(handler) }

    private func counter(_ label: String, _ dimensions: [(String, String)]) -> CounterSeries {
        series(label, .counter, id(ExpositionName.counter(label), dimensions), make: CounterSeries.init)
    }

    private func gauge(_ label: String, _ dimensions: [(String, String)]) -> GaugeSeries {
        series(label, .gauge, id(ExpositionName.of(label), dimensions), make: GaugeSeries.init)
    }

    private func histogram(
        _ label: String,
        _ dimensions: [(String, String)],
        suffix: String,
        bounds: [Double]
    ) -> HistogramSeries {
        let bounds = self.bounds(of: label) ?? bounds
        return series(label, .histogram, id(ExpositionName.of(label, suffix: suffix), dimensions)) {
            HistogramSeries($0, bounds: bounds)
        }
    }

    private func id(_ family: String, _ dimensions: [(String, String)]) -> SeriesID {
        SeriesID(family: family, labels: MetricLabel.sorted(dimensions))
    }
}
