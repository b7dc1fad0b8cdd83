/// The check of the arms' sizes against their planned shares.
///
/// If the sizes differ from the plan by more than chance, something removed recipients of one arm: the assignment is
/// wrong, or one arm's pushes stop devices from reporting. Then the rates cannot be compared.
public struct SampleRatio: Hashable, Sendable {
    /// The p-value below which the assignment counts as broken.
    ///
    /// It is small because the check is repeated at every look.
    public static let alpha = 0.001

    /// The chi-square value of the sizes against the plan.
    public let chiSquare: Double
    /// The probability of such a deviation with a correct assignment.
    public let p: Double
    /// Whether the assignment is broken.
    public let isBroken: Bool

    /// Checks sizes; nil if there are fewer than two arms, a negative size, or a share that is not above 0 and finite.
    ///
    /// - Parameter arms: planned share and actual size of each arm; only the proportions of the shares count.
    public init?(_ arms: [(share: Double, recipients: Int)]) {
        guard arms.count > 1, arms.allSatisfy({ $0.share > 0 && $0.recipients >= 0 }) else { return nil }
        let shares = arms.reduce(0) { $0 + $1.share }
        guard shares.isFinite else { return nil }
        let total = arms.reduce(0) { $0 + Double($1.recipients) }
        let compared = arms.map { (expected: total * ($0.share / shares), actual: Double($0.recipients)) }
        // A share near 0 may round to an expected size of 0: any recipient there is too many.
        chiSquare = compared.reduce(0) { sum, arm in
            let deviation = arm.actual - arm.expected
            return deviation == 0 ? sum : sum + deviation / arm.expected * deviation
        }
        p = Normal.chiSquareTail(chiSquare, degrees: arms.count - 1)
        // Below an expected size of 5 the chi-square distribution does not hold; 50 where fewer than 5 belong is no chance.
        let isLargeEnough = compared.allSatisfy { $0.expected >= 5 || $0.actual >= 50 }
        isBroken = isLargeEnough && p < Self.alpha
    }
}
