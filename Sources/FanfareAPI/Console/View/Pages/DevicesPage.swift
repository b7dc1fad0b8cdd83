/// `/devices`: how many, in what state, and which.
struct DevicesPage: ViewContext {
    let frame: Frame
    let filter: FilterForm
    let counts: [DeviceCountLine]
    /// The sum of several targets.
    let total: DeviceTotal?
    let disabled: ChartFigure
    let reasons: [OutcomeLine]
    let fuses: [FuseLine]
    let devices: [DeviceLine]
    let hasUsers = true
    let pager: Pager
    /// Restore what the filter takes.
    let actions: [ActionLink]
    let empty: Empty?
}

/// `/devices/{id}`: one device.
struct OneDevicePage: ViewContext {
    let frame: Frame
    let badge: Badge
    let facts: [Fact]
    let topics: [String]
    /// What the application keeps with it, as JSON.
    let attributes: String?
}

/// Devices of all targets that are listed.
struct DeviceTotal: ViewContext {
    let enabled: String
    let disabled: String
}

/// Devices of one target.
struct DeviceCountLine: ViewContext {
    let app: String
    let provider: String
    let environment: String
    let href: String
    let enabled: String
    let disabled: String
    let share: String
    let bar: Markup
}

/// The prune fuse of one app and environment.
struct FuseLine: ViewContext {
    let app: String
    let environment: String
    let badge: Badge
    /// As in `0.4 % of 12,400 answers in 10 min; opens at 2 %`.
    let words: String
    let since: Moment?
    /// What lets pruning go on.
    let command: String?
}
