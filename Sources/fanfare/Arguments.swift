public import ArgumentParser
public import FanfareCore
public import FanfareTools

extension TimeSpan: ExpressibleByArgument {
    /// Reads `90s`, `15m`, `4h` or `7d` from the command line.
    ///
    /// - Parameter argument: what was typed.
    public init?(argument: String) {
        self.init(argument)
    }

    /// How help shows a default.
    public var defaultValueDescription: String { description }
}

extension TokenScope: ExpressibleByArgument {}

extension DeviceImportRequest.Format: ExpressibleByArgument {}

extension DeviceExport.Format: ExpressibleByArgument {}
