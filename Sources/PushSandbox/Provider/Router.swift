/// Finds the simulated service of a request.
struct Router: Sendable {
    let simulators: [any ProviderSimulator]

    /// Returns the index of the service that serves a request.
    ///
    /// A request that no service serves goes to the first one, which responds with 404.
    func index(for head: RequestHead) -> Int {
        guard simulators.count > 1 else { return 0 }
        return simulators.firstIndex { $0.serves(head) } ?? 0
    }
}
