package import FanfareCore
package import FanfareStore

/// How many devices may be disabled on newly counted evidence: by each provider's answers, and by those of all.
package struct PruneAllowances {
    private var ofProvider: [AnswerSource: PruneAllowance] = [:]
    private var ofAll: [FuseKey: PruneAllowance] = [:]

    /// What the fuses' arithmetic allows.
    ///
    /// - Parameters:
    ///   - sums: what all daemons were answered, with `fresh`.
    ///   - fresh: the evidence it is about.
    package init(sums: [AnswerSource: PruneCounts], fresh: [AnswerSource: PruneCounts]) {
        for (source, counts) in fresh {
            ofProvider[source] = sums[source].map { PruneFuse.allowance(in: $0, for: counts) }
        }
        let all = sums.byFuse
        for (key, counts) in fresh.byFuse {
            ofAll[key] = all[key].map { PruneFuse.allowance(in: $0, for: counts) }
        }
    }

    /// Takes one device's share, if there is any.
    package mutating func take(_ strength: PruneEvidence.Strength, from source: AnswerSource) -> Bool {
        guard ofProvider[source]?.allows(strength) == true, ofAll[source.key]?.allows(strength) == true else {
            return false
        }
        ofProvider[source]?.take(strength)
        ofAll[source.key]?.take(strength)
        return true
    }
}
