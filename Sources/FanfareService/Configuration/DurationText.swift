/// Durations as people write them: `90s`, `15m`, `4h`, `7d`.
enum DurationText {
    private static let units: [(letter: Character, seconds: Int64)] = [
        ("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1),
    ]

    /// Reads a whole number followed by one unit.
    ///
    /// - Parameter text: such as `90s`.
    /// - Returns: the duration; nil if the text is none, or too long for 64 bits of seconds.
    static func parse(_ text: some StringProtocol) -> Duration? {
        guard let letter = text.last, let unit = units.first(where: { $0.letter == letter }) else { return nil }
        let digits = text.dropLast()
        guard !digits.isEmpty, digits.allSatisfy({ ("0"..."9").contains($0) }), let count = Int64(digits) else {
            return nil
        }
        let (seconds, overflow) = count.multipliedReportingOverflow(by: unit.seconds)
        return overflow ? nil : .seconds(seconds)
    }

    /// Writes a duration in the largest unit that says it exactly.
    ///
    /// - Parameter duration: whole seconds; a fraction is dropped.
    /// - Returns: such as `7d`.
    static func format(_ duration: Duration) -> String {
        let seconds = duration.components.seconds
        let unit = units.first { seconds % $0.seconds == 0 && seconds >= $0.seconds }
        return "\(seconds / (unit?.seconds ?? 1))\(unit?.letter ?? "s")"
    }
}
