import FanfareCore

/// Whom a run is not to disturb: what stands beside each other there.
///
/// Each seed has one, and as many seeds in a row as there are combinations have all.
struct Combination: Equatable {
    /// What the app's quiet hours do.
    enum Quiet: CaseIterable {
        case hold
        case drop
        case none
    }

    /// What becomes of those who are not the canary.
    enum Canary: CaseIterable {
        /// There is none.
        case none
        /// They have their turn after a wait.
        case opens
        /// They never have it.
        case aborted
    }

    /// How many there are.
    static let count: UInt64 = 144

    let quiet: Quiet
    /// Whether campaigns are due at a time of each time zone's own.
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

    /// The types of events that are emitted, each as often as it stands here.
    var types: [String] {
        let note = hasCaps ? "capped note" : "note"
        return ["once", note, note]
            + (hasDigest ? [Rows.DigestDefinition.type, Rows.DigestDefinition.type, Rows.DigestDefinition.type] : [])
    }

    /// The type of the campaigns' events.
    var campaign: String { hasCaps ? "capped campaign" : "campaign" }
}
