internal import FanfareConfiguration
public import FanfareLogging
internal import FanfareProviders
internal import FanfareService
internal import Logging

extension LogOutput {
    /// Logs why the process ends, if a program reads the log; people get the error in several lines instead.
    ///
    /// - Parameter error: the fatal error.
    /// - Returns: whether it was logged.
    public func tell(fatal error: any Error) -> Bool {
        guard isForPrograms else { return false }
        let failure = ToolError(error)
        var metadata = Logger.Metadata([.error: "\(failure.reason)"])
        metadata[.place] = failure.place.map { "\($0)" }
        if !failure.hint.isEmpty { metadata[.hint] = "\(failure.hint)" }
        logger().critical("the daemon ends", metadata: metadata)
        return true
    }
}
