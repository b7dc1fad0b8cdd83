/// The bounds of sending and pruning, which senders and the recorder share.
package struct Limits: Sendable {
    /// The in-flight budget, shared by all senders.
    package let budget: InFlightBudget
    /// A second budget of the same size, for deliveries that are marked as attempted before they are sent.
    package let windows: InFlightBudget
    package let fuses = PruneFuses()

    /// Creates limits without requests in flight.
    ///
    /// - Parameter capacity: the size of each budget.
    package init(capacity: Int) {
        budget = InFlightBudget(capacity: capacity)
        windows = InFlightBudget(capacity: capacity)
    }
}
