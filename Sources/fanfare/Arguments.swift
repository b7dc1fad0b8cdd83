public import ArgumentParser
public import FanfareCore
internal import FanfareMoving
internal import FanfareTools

extension TimeSpan: ExpressibleByArgument {
    /// Parses `90s`, `15m`, `4h` or `7d` from the command line.
    ///
    /// - Parameter argument: the argument.
    public init?(argument: String) {
        self.init(argument)
    }

    /// The default as shown in help.
    public var defaultValueDescription: String { description }
}

extension TokenScope: ExpressibleByArgument {}

extension DeviceImportRequest.Format: ExpressibleByArgument {}

extension DeviceExport.Format: ExpressibleByArgument {}
