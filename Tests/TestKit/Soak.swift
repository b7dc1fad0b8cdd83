import Foundation

/// Long runs of tests that have a short form for every day: `deploy/test.sh --soak` sets `FANFARE_SOAK`.
public enum Soak {
    /// Whether this is a long run.
    public static let isOn = ProcessInfo.processInfo.environment["FANFARE_SOAK"] != nil

    /// Chooses between the size of every day and that of a long run.
    public static func choose<Value>(_ everyDay: Value, soak: Value) -> Value {
        isOn ? soak : everyDay
    }

    /// The seeds of a test of random histories.
    ///
    /// - Parameters:
    ///   - everyDay: how many are tried every day.
    ///   - soak: how many in a long run.
    /// - Returns: 1, 2, 3 …
    public static func seeds(_ everyDay: UInt64, soak: UInt64) -> [UInt64] {
        Array(1...choose(everyDay, soak: soak))
    }
}
