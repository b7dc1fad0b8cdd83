/// `/providers`: what pushes go through.
struct ProvidersPage: ViewContext {
    let frame: Frame
    let filter: FilterForm
    let providers: [ProviderCard]
    let answers: ChartFigure
    let latency: ChartFigure
    let reasons: [OutcomeLine]
}

/// One app's way to one provider.
struct ProviderCard: ViewContext {
    /// Unique on the page.
    let id: String
    let app: String
    let provider: String
    let badge: Badge
    /// What it is about, where it is not well.
    let words: String?
    let perSecond: String
    let facts: [Fact]
    let daemons: [ProviderDaemonLine]
}

/// What one daemon has of it.
struct ProviderDaemonLine: ViewContext {
    let daemon: String
    let breaker: Badge
}
