extension String {
    /// The text on one line, without control characters, because texts of users may hold escape sequences for the
    /// terminal.
    package var printable: String {
        String(String.UnicodeScalarView(unicodeScalars.map { Self.isUnruly($0) ? " " : $0 }))
    }

    /// The text, which is JSON, on one line with control characters escaped for a terminal; its value is the same.
    package var printableJSON: String {
        unicodeScalars.reduce(into: "") { text, scalar in
            if Self.isUnruly(scalar) {
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
    }

    /// Returns whether a scalar is a control character, changes the direction of text or breaks a line.
    private static func isUnruly(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: scalar.properties.isBidiControl
        }
    }
}
