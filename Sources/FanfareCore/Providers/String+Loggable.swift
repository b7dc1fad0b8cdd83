extension String {
    /// The text as it may stand in a log: cut, and without control and format characters.
    ///
    /// - Parameter length: how many Unicode scalars are looked at.
    /// - Returns: nil where nothing is left.
    func loggable(upTo length: Int) -> String? {
        let kept = unicodeScalars.prefix(length)
            .filter { $0.properties.generalCategory != .control && $0.properties.generalCategory != .format }
        return kept.isEmpty ? nil : String(String.UnicodeScalarView(kept))
    }
}
