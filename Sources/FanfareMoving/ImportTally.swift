public import FanfareCore
internal import FanfareTools

/// The counts of an import's rows by result.
public struct ImportTally: Sendable, Equatable {
    /// Rows that were read.
    public internal(set) var read: Int64 = 0
    /// Devices that were not registered before the import.
    public internal(set) var new: Int64 = 0
    /// Devices that existed and were changed.
    public internal(set) var updated: Int64 = 0
    /// Devices that existed and stayed the same.
    public internal(set) var unchanged: Int64 = 0
    /// Rows that were skipped, by reason.
    public internal(set) var skipped: [String: Int64] = [:]
    /// Rows that were refused, by reason.
    public internal(set) var refused: [String: Int64] = [:]
    /// Values that rows gave and devices were registered without.
    public internal(set) var without: [String: Int64] = [:]
    /// The number of bytes written to the file of refused rows.
    var rejectedBytes: Int64 = 0

    /// The number of different reasons that are counted.
    private static let reasonLimit = 30

    /// The number of skipped rows.
    public var skippedCount: Int64 { skipped.values.reduce(0, +) }
    /// The number of refused rows.
    public var refusedCount: Int64 { refused.values.reduce(0, +) }

    /// Counts a refused row.
    mutating func refuse(_ refusal: ImportRowError) {
        let reason = [refusal.column.map(\.printable), refusal.reason].compactMap(\.self).joined(
            separator: ": "
        )
        let isKept = refused[reason] != nil || refused.count < Self.reasonLimit
        refused[isKept ? reason : "other reasons", default: 0] += 1
    }

    /// The tally as JSON.
    public var json: JSONValue {
        var object = JSONObject()
        for (name, path) in Self.numbers { object[name] = JSONValue(self[keyPath: path]) }
        for (name, path) in Self.counts {
            var inner = JSONObject()
            for (reason, count) in self[keyPath: path].sorted(by: { $0.key < $1.key }) {
                inner[reason] = JSONValue(count)
            }
            object[name] = .object(inner)
        }
        return .object(object)
    }

    private static var numbers: [(String, WritableKeyPath<ImportTally, Int64>)] {
        [
            ("read", \.read), ("new", \.new), ("updated", \.updated), ("unchanged", \.unchanged),
            ("rejected_bytes", \.rejectedBytes),
        ]
    }
    private static var counts: [(String, WritableKeyPath<ImportTally, [String: Int64]>)] {
        [
            ("skipped", \.skipped), ("refused", \.refused), ("without", \.without),
        ]
    }

    /// Makes an empty tally.
    init() {}

    /// Continues a stored tally.
    ///
    /// - Parameter json: the stored ``json``.
    init(_ json: JSONValue) {
        for (name, path) in Self.numbers { self[keyPath: path] = json[name]?.numberValue?.integer ?? 0 }
        for (name, path) in Self.counts {
            for member in json[name]?.objectValue?.members ?? [] {
                self[keyPath: path][member.key] = member.value.numberValue?.integer ?? 0
            }
        }
    }
}
