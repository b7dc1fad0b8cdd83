internal import FanfareCore

/// A row as `fanfare.import_devices` takes it.
struct ImportRow: Sendable {
    /// Its members.
    var members = JSONObject()

    /// Says something of it, unless it is nil.
    subscript(name: String) -> String? {
        get { members[name]?.stringValue }
        set { if let newValue { members[name] = .string(newValue) } }
    }
}

/// Why a row is not imported.
struct ImportRowError: Error, Sendable, Equatable {
    /// The column, as the file calls it; nil for the row as a whole.
    let column: String?
    /// What is wrong; never with the value of a token or a key.
    let reason: String
}

/// What becomes of a row before the database sees it.
enum ImportFate: Sendable {
    /// It is to be registered.
    case row(ImportRow)
    /// It is left out, and why: in the plural, for the summary.
    case skipped(String)
    /// It is refused.
    case refused(ImportRowError)
}
