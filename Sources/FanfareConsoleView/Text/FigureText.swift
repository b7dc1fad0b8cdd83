internal import FanfareCore

/// The format of numbers.
package enum FigureText {
    /// Returns all digits, with commas: `1,204`.
    package static func count(_ number: Int64) -> String {
        let digits = String(number.magnitude)
        var text = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index).isMultiple(of: 3) { text.append(",") }
            text.append(digit)
        }
        return (number < 0 ? "\u{2212}" : "") + text
    }

    /// Returns three significant digits: `980`, `1.24 k`, `12.4 M`.
    package static func short(_ number: Double) -> String {
        guard number.isFinite, number.magnitude < 1e15 else { return "–" }
        let size = number.magnitude
        for (limit, unit) in [(1e9, "G"), (1e6, "M"), (1e3, "k")] where size >= limit * 0.9995 {
            return "\(digits(number / limit)) \(unit)"
        }
        return size >= 100 || number == number.rounded() ? "\(Int64(number.rounded()))" : digits(number)
    }

    /// Formats a duration: `12 ms`, `1.4 s`, `3 min 20 s`, `4 h 5 min`, `3 d 2 h`.
    ///
    /// - Parameter seconds: the duration; negative values count as zero.
    /// - Returns: the text, with two units at most.
    package static func duration(_ seconds: Double) -> String {
        guard seconds.isFinite, seconds < 1e15 else { return "–" }
        let seconds = max(0, seconds)
        if seconds < 0.0995 { return "\(digits(seconds * 1000)) ms" }
        if seconds < 0.9995 { return "\(Int64((seconds * 1000).rounded())) ms" }
        if seconds < 59.95 { return "\(digits(seconds)) s" }
        let whole = Int64(seconds.rounded())
        for (unit, name, next, nextName) in [
            (Int64(86_400), "d", Int64(3_600), "h"), (3_600, "h", 60, "min"), (60, "min", 1, "s"),
        ] where whole >= unit {
            let rest = whole % unit / next
            return rest == 0 ? "\(whole / unit) \(name)" : "\(whole / unit) \(name) \(rest) \(nextName)"
        }
        return "\(whole) s"
    }

    /// Formats a duration from a configuration or rule file with the units of ``duration(_:)``: `12 h` for `12h` and
    /// for `43200s`.
    ///
    /// - Parameter text: a whole number with a unit, or of seconds.
    /// - Returns: the formatted duration, or the text itself if it is no duration.
    package static func span(_ text: String) -> String {
        (TimeSpan(text) ?? TimeSpan(text + "s")).map { duration(Double($0.seconds)) } ?? text
    }

    /// Formats the time since an event, in whole units: `38 s ago`.
    ///
    /// - Parameter microseconds: the microseconds since then.
    /// - Returns: the text; `0 s ago` for a time in the future.
    package static func ago(_ microseconds: Int64) -> String {
        "\(duration(Double(max(0, microseconds) / 1_000_000)).replacing("0 ms", with: "0 s")) ago"
    }

    /// Formats a share of a whole: `99.98 %`; `100 %` and `0 %` only for all and nothing.
    package static func share(_ part: Int64, of whole: Int64) -> String {
        guard whole > 0 else { return "–" }
        let percent = Double(part) / Double(whole) * 100
        if part == 0 { return "0 %" }
        if part == whole { return "100 %" }
        if percent < 0.01 { return "< 0.01 %" }
        if percent > 99.99 { return "> 99.99 %" }
        return percent < 1 || percent > 99 ? "\(fixed(percent, 2)) %" : "\(fixed(percent, 1)) %"
    }

    /// Formats a count with its noun: `1 device`, `1,204 devices`.
    package static func counted(_ number: Int64, _ one: String, _ many: String? = nil) -> String {
        "\(count(number)) \(number == 1 ? one : many ?? one + "s")"
    }

    /// Formats a number with a fixed number of decimals.
    static func fixed(_ number: Double, _ decimals: Int) -> String {
        var scale: Int64 = 1
        for _ in 0..<decimals { scale *= 10 }
        let whole = Int64((number.magnitude * Double(scale)).rounded())
        let fraction = String(whole % scale)
        let sign = number < 0 && whole > 0 ? "\u{2212}" : ""
        guard decimals > 0 else { return sign + String(whole) }
        return "\(sign)\(whole / scale).\(String(repeating: "0", count: decimals - fraction.count))\(fraction)"
    }

    /// Returns three significant digits, without trailing zeros after the point.
    private static func digits(_ number: Double) -> String {
        let size = number.magnitude
        var text = fixed(number, size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2)
        guard text.contains(".") else { return text }
        while text.hasSuffix("0") { text.removeLast() }
        if text.hasSuffix(".") { text.removeLast() }
        return text
    }
}
