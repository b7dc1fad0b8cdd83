internal import FanfareConsoleView

/// `/providers`: the providers that pushes go through.
struct ProvidersPage: ViewContext {
    let frame: Frame
    let filter: FilterForm
    let providers: [ProviderCard]
    let answers: ChartFigure
    let latency: ChartFigure
    let reasons: [OutcomeLine]
}

/// One app's traffic to one provider.
struct ProviderCard: ViewContext {
    /// An id that is unique on the page.
    let id: String
    let app: String
    let provider: String
    let badge: Badge
    /// The problem, if there is one.
    let words: String?
    let perSecond: String
    let facts: [Fact]
    let daemons: [ProviderDaemonLine]
}

/// What one daemon reports of the provider.
struct ProviderDaemonLine: ViewContext {
    let daemon: String
    let breaker: Badge
}
