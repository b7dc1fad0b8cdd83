internal import FanfareCore

/// A row in the form that `fanfare.import_devices` takes.
struct ImportRow: Sendable {
    /// Its members.
    var members = JSONObject()

    /// Sets a member, unless the value is nil.
    subscript(name: String) -> String? {
        get { members[name]?.stringValue }
        set { if let newValue { members[name] = .string(newValue) } }
    }
}

/// Why a row is refused.
struct ImportRowError: Error, Sendable, Equatable {
    /// The column, as the file calls it; nil for the row as a whole.
    let column: String?
    /// The reason; never with the value of a token or a key.
    let reason: String
}

/// The result of reading a row, before the database sees it.
enum ImportFate: Sendable {
    /// The row is to be registered.
    case row(ImportRow)
    /// The row is skipped; the reason, in the plural, for the summary.
    case skipped(String)
    /// The row is refused.
    case refused(ImportRowError)
}
