internal import FanfareConsoleView

/// `/devices`: the number of devices, their states, and a list.
struct DevicesPage: ViewContext {
    let frame: Frame
    let filter: FilterForm
    let counts: [DeviceCountLine]
    /// The sum of several targets; nil for one.
    let total: DeviceTotal?
    let disabled: ChartFigure
    let reasons: [OutcomeLine]
    let fuses: [FuseLine]
    let devices: [DeviceLine]
    let hasUsers = true
    let pager: Pager
    /// The action that restores the devices of the filter.
    let actions: [ActionLink]
    let empty: Empty?
}

/// `/devices/{id}`: one device.
struct OneDevicePage: ViewContext {
    let frame: Frame
    let badge: Badge
    let facts: [Fact]
    let topics: [String]
    /// The attributes that the application stores with it, as JSON.
    let attributes: String?
}

/// The sum of the devices of all listed targets.
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
    /// The fuse's state, such as `0.4 % of 12,400 answers in 10 min; opens at 2 %`.
    let words: String
    let since: Moment?
    /// The command that resumes pruning.
    let command: String?
}
