import FanfareCore

/// The combination of suppressions in a run.
///
/// Each seed has one, and consecutive seeds cover all combinations.
struct Combination: Equatable {
    /// The effect of the app's quiet hours.
    enum Quiet: CaseIterable {
        case hold
        case drop
        case none
    }

    /// What becomes of the audience without the canary.
    enum Canary: CaseIterable {
        /// There is no canary.
        case none
        /// The gate opens after a wait.
        case opens
        /// The run is aborted.
        case aborted
    }

    /// The number of combinations.
    static let count: UInt64 = 144

    let quiet: Quiet
    /// Whether campaigns are due at a local time in each time zone.
    let isLocal: Bool
    let hasRate: Bool
    let hasCaps: Bool
    let canary: Canary
    let hasDigest: Bool

    init(seed: UInt64) {
        var rest = Int(seed % Self.count)
        func one(of count: Int) -> Int {
            defer { rest /= count }
            return rest % count
        }
        quiet = Quiet.allCases[one(of: 3)]
        canary = Canary.allCases[one(of: 3)]
        (isLocal, hasRate) = (one(of: 2) == 1, one(of: 2) == 1)
        (hasCaps, hasDigest) = (one(of: 2) == 1, one(of: 2) == 1)
    }

    /// The types of the emitted events, repeated by their frequency.
    var types: [String] {
        let note = hasCaps ? "capped note" : "note"
        return ["once", note, note]
            + (hasDigest ? [Rows.DigestDefinition.type, Rows.DigestDefinition.type, Rows.DigestDefinition.type] : [])
    }

    /// The type of the campaigns' events.
    var campaign: String { hasCaps ? "capped campaign" : "campaign" }
}
