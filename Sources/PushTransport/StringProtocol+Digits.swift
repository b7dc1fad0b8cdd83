extension StringProtocol {
    /// Whether all characters are ASCII digits; true for the empty string.
    ///
    /// `Int(_:)` also accepts a sign.
    var isDigits: Bool { utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } }
}
