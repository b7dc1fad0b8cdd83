/// Finds the simulated service a request is for.
struct Router: Sendable {
    let simulators: [any ProviderSimulator]

    /// Index of the service that serves a request.
    ///
    /// The first service is also what a request for nobody gets its 404 from.
    func index(for head: RequestHead) -> Int {
        guard simulators.count > 1 else { return 0 }
        return simulators.firstIndex { $0.serves(head) } ?? 0
    }
}
