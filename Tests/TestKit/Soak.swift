import Foundation

/// The sizes of tests with a long form: `deploy/test.sh --soak` sets `FANFARE_SOAK`.
public enum Soak {
    /// Whether this is a long run.
    public static let isOn = ProcessInfo.processInfo.environment["FANFARE_SOAK"] != nil

    /// Returns the normal size or that of a long run.
    public static func choose<Value>(_ everyDay: Value, soak: Value) -> Value {
        isOn ? soak : everyDay
    }

    /// Returns the seeds of a test of random histories.
    ///
    /// - Parameters:
    ///   - everyDay: the number of seeds in a normal run.
    ///   - soak: the number in a long run.
    /// - Returns: 1, 2, 3 …
    public static func seeds(_ everyDay: UInt64, soak: UInt64) -> [UInt64] {
        Array(1...choose(everyDay, soak: soak))
    }
}
