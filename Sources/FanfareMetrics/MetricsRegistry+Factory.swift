public import CoreMetrics

/// The interface of a swift-metrics backend.
///
/// The exposed names of counters end in `_total`, and those of timers, which are stored in seconds, in `_seconds`.
extension MetricsRegistry: MetricsFactory {
    /// Finds or makes a counter of whole numbers.
    ///
    /// - Parameters:
    ///   - label: its name, with dots.
    ///   - dimensions: its labels, in any order.
    /// - Returns: a handler that ignores negative amounts and saturates at the largest `Int64`.
    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        counter(label, dimensions)
    }

    /// Finds or makes a counter of fractions; it shares its series with the counter of that name.
    ///
    /// - Parameters:
    ///   - label: its name, with dots.
    ///   - dimensions: its labels, in any order.
    /// - Returns: a handler that ignores amounts that are not finite or not positive.
    public func makeFloatingPointCounter(
        label: String,
        dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        counter(label, dimensions)
    }

    /// Finds or makes a gauge that can be raised and lowered.
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
    /// - Returns: a handler with the bounds of the metric's description, or 1 to 1,048,576 in steps of four.
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
    /// - Returns: a handler with the bounds of the metric's description, or 1 ms to 5 min. The display unit is ignored:
    ///   it is always seconds.
    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        histogram(label, dimensions, suffix: "_seconds", bounds: HistogramSeries.durationBounds)
    }

    /// Finds or makes a histogram of durations that takes exemplars and tallies, which swift-metrics' timers do not.
    ///
    /// - Parameters:
    ///   - label: its name, with dots.
    ///   - dimensions: its labels, in any order.
    ///   - bounds: the bounds if the metric's description has none; nil for the registry's defaults.
    /// - Returns: the series of the timer of this name; takes seconds.
    public func durations(
        _ label: String,
        _ dimensions: [(String, String)],
        bounds: [Double]? = nil
    ) -> HistogramSeries {
        histogram(label, dimensions, suffix: "_seconds", bounds: bounds ?? HistogramSeries.durationBounds)
    }

    /// Removes a counter when all its holders have destroyed it; a new one starts at zero.
    ///
    /// - Parameter handler: a counter of this registry; others are ignored.
    public func destroyCounter(_ handler: any CounterHandler) { destroy(handler) }

    /// Removes a counter when all its holders have destroyed it.
    ///
    /// - Parameter handler: a counter of this registry; others are ignored.
    public func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) { destroy(handler) }

    /// Removes a gauge when all its holders have destroyed it.
    ///
    /// - Parameter handler: a gauge of this registry; others are ignored.
    public func destroyMeter(_ handler: any MeterHandler) { destroy(handler) }

    /// Removes a gauge or histogram when all its holders have destroyed it.
    ///
    /// - Parameter handler: one of this registry; others are ignored.
    public func destroyRecorder(_ handler: any RecorderHandler) { destroy(handler) }

    /// Removes a histogram when all its holders have destroyed it.
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
