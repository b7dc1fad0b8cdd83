extension StringProtocol {
    /// Whether it holds ASCII digits and nothing else, or nothing at all.
    ///
    /// `Int(_:)` takes a sign too.
    var isDigits: Bool { utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } }
}
