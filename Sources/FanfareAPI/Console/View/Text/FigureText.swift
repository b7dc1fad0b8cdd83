internal import FanfareCore

/// Numbers for people.
enum FigureText {
    /// All digits, with commas: `1,204`.
    static func count(_ number: Int64) -> String {
        let digits = String(number.magnitude)
        var text = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index).isMultiple(of: 3) { text.append(",") }
            text.append(digit)
        }
        return (number < 0 ? "\u{2212}" : "") + text
    }

    /// Three digits that matter: `980`, `1.24 k`, `12.4 M`.
    static func short(_ number: Double) -> String {
        guard number.isFinite, number.magnitude < 1e15 else { return "–" }
        let size = number.magnitude
        for (limit, unit) in [(1e9, "G"), (1e6, "M"), (1e3, "k")] where size >= limit * 0.9995 {
            return "\(digits(number / limit)) \(unit)"
        }
        return size >= 100 || number == number.rounded() ? "\(Int64(number.rounded()))" : digits(number)
    }

    /// A span of time: `12 ms`, `1.4 s`, `3 min 20 s`, `4 h 5 min`, `3 d 2 h`.
    ///
    /// - Parameter seconds: nothing below zero is shown.
    /// - Returns: at most two units.
    static func duration(_ seconds: Double) -> String {
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

    /// A span as files have it, in the units of all others: `12 h` of `12h` and of `43200s`.
    ///
    /// - Parameter text: a whole number with a unit, or of seconds.
    /// - Returns: the text itself where it is none.
    static func span(_ text: String) -> String {
        (TimeSpan(text) ?? TimeSpan(text + "s")).map { duration(Double($0.seconds)) } ?? text
    }

    /// How long ago, in whole units: `38 s ago`.
    ///
    /// - Parameter microseconds: since then.
    /// - Returns: `0 s ago` of a time to come.
    static func ago(_ microseconds: Int64) -> String {
        "\(duration(Double(max(0, microseconds) / 1_000_000)).replacing("0 ms", with: "0 s")) ago"
    }

    /// A share of a whole: `99.98 %`; never `100 %` or `0 %` of what is not all or nothing.
    static func share(_ part: Int64, of whole: Int64) -> String {
        guard whole > 0 else { return "–" }
        let percent = Double(part) / Double(whole) * 100
        if part == 0 { return "0 %" }
        if part == whole { return "100 %" }
        if percent < 0.01 { return "< 0.01 %" }
        if percent > 99.99 { return "> 99.99 %" }
        return percent < 1 || percent > 99 ? "\(fixed(percent, 2)) %" : "\(fixed(percent, 1)) %"
    }

    /// `1 device`, `1,204 devices`.
    static func counted(_ number: Int64, _ one: String, _ many: String? = nil) -> String {
        "\(count(number)) \(number == 1 ? one : many ?? one + "s")"
    }

    /// A number with so many decimals.
    static func fixed(_ number: Double, _ decimals: Int) -> String {
        var scale: Int64 = 1
        for _ in 0..<decimals { scale *= 10 }
        let whole = Int64((number.magnitude * Double(scale)).rounded())
        let fraction = String(whole % scale)
        let sign = number < 0 && whole > 0 ? "\u{2212}" : ""
        guard decimals > 0 else { return sign + String(whole) }
        return "\(sign)\(whole / scale).\(String(repeating: "0", count: decimals - fraction.count))\(fraction)"
    }

    /// Three digits, no zeros behind the point.
    private static func digits(_ number: Double) -> String {
        let size = number.magnitude
        var text = fixed(number, size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2)
        guard text.contains(".") else { return text }
        while text.hasSuffix("0") { text.removeLast() }
        if text.hasSuffix(".") { text.removeLast() }
        return text
    }
}
