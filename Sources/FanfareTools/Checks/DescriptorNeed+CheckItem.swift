internal import FanfareProviders
internal import FanfareService
internal import Threading

extension DescriptorNeed {
    /// Returns the item that `fanfare check` shows for the descriptor limit.
    func item(_ limit: DescriptorLimit) -> CheckItem {
        let detail = "up to \(count) are needed, \(limit.hard) are allowed here"
        guard limit.hard < UInt64(count) else { return CheckItem(.ok, "file descriptors", detail) }
        return CheckItem(
            .warn,
            "file descriptors",
            detail,
            advice: "Raise LimitNOFILE= of the daemon's unit, or the hard limit of open files (ulimit -Hn)."
        )
    }
}
