/// Writes the `d` of an SVG path with coordinates of one decimal.
struct SVGPath {
    private(set) var text = ""

    /// Starts a line at a point.
    mutating func move(_ x: Double, _ y: Double) { text += "M\(Self.number(x)) \(Self.number(y))" }

    /// Draws a line to a point.
    mutating func line(_ x: Double, _ y: Double) { text += "L\(Self.number(x)) \(Self.number(y))" }

    /// Adds a closed rectangle.
    mutating func rectangle(_ x: Double, _ y: Double, _ width: Double, _ height: Double) {
        text += "M\(Self.number(x)) \(Self.number(y))"
        text += "h\(Self.number(width))v\(Self.number(height))h\(Self.number(-width))z"
    }

    /// Formats a number with as few characters as possible.
    static func number(_ value: Double) -> String {
        // A drawing cannot place NaN or infinity.
        let tenths = value.isFinite ? Int64((min(max(value, -1e9), 1e9) * 10).rounded()) : 0
        let sign = tenths < 0 ? "-" : ""
        let size = tenths.magnitude
        return size.isMultiple(of: 10) ? "\(sign)\(size / 10)" : "\(sign)\(size / 10).\(size % 10)"
    }
}
