package import FanfareCore
package import FanfareStore

/// How many devices may be disabled on new evidence, limited per provider and over all providers.
package struct PruneAllowances {
    private var ofProvider: [AnswerSource: PruneAllowance] = [:]
    private var ofAll: [FuseKey: PruneAllowance] = [:]

    /// Computes the allowances with the fuses' rules.
    ///
    /// - Parameters:
    ///   - sums: the answers to all daemons, including `fresh`.
    ///   - fresh: the new evidence.
    package init(sums: [AnswerSource: PruneCounts], fresh: [AnswerSource: PruneCounts]) {
        for (source, counts) in fresh {
            ofProvider[source] = sums[source].map { PruneFuse.allowance(in: $0, for: counts) }
        }
        let all = sums.byFuse
        for (key, counts) in fresh.byFuse {
            ofAll[key] = all[key].map { PruneFuse.allowance(in: $0, for: counts) }
        }
    }

    /// Takes one device's share of the allowances; returns false if either is used up.
    package mutating func take(_ strength: PruneEvidence.Strength, from source: AnswerSource) -> Bool {
        guard ofProvider[source]?.allows(strength) == true, ofAll[source.key]?.allows(strength) == true else {
            return false
        }
        ofProvider[source]?.take(strength)
        ofAll[source.key]?.take(strength)
        return true
    }
}
