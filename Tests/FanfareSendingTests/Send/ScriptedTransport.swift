import PushTransport

/// A transport whose answers the test determines.
final class ScriptedTransport: PushTransport {
    private struct Silent: TransportWaker {
        func wake() {}
    }

    /// The cause for which it returns all requests; nil if it accepts them.
    var givesBack: FateCause?
    /// Whether it is still connecting.
    var isConnecting = false
    /// The number of requests in each submission.
    private(set) var submitted: [Int] = []
    private(set) var answered = 0
    private var waiting: [PushRequest] = []
    private var failures = 0
    var sendUntil = ContinuousClock.now
    let isGrowing = true
    let waker: any TransportWaker = Silent()

    var inFlight: Int { waiting.count }
    var freeSlots: Int { 8 - waiting.count }
    var state: TransportState {
        var state = TransportState()
        state.failedConnectsInARow = failures
        state.established = answered > 0 ? 1 : 0
        return state
    }

    func submit(_ requests: ArraySlice<PushRequest>) -> Int {
        if !requests.isEmpty { submitted.append(requests.count) }
        waiting += requests
        return requests.count
    }

    func poll(timeout: Duration, into answers: inout [PushAnswer]) {
        let isLate = ContinuousClock.now >= sendUntil
        guard !isConnecting || isLate, !waiting.isEmpty else { return }
        let cause = isLate ? .sendUntil : givesBack
        if cause == .connect { failures += 1 }
        answers += waiting.map { request in
            guard let cause else { return PushAnswer(tag: request.tag, status: 200) }
            return PushAnswer(tag: request.tag, without: .notSent, cause: cause, detail: "scripted")
        }
        if cause == nil { (answered, failures) = (answered + waiting.count, 0) }
        waiting = []
    }

    func retire(_ connection: UInt64) {}

    func close(into answers: inout [PushAnswer]) {}
}
