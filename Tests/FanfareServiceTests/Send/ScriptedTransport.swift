import PushTransport

/// A transport that does as it is told.
final class ScriptedTransport: PushTransport {
    private struct Silent: TransportWaker {
        func wake() {}
    }

    /// Why it gives back whatever it is given; nil if all is accepted.
    var givesBack: FateCause?
    /// It is not done with connecting.
    var isConnecting = false
    /// How much it was given each time.
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
