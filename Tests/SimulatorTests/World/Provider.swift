import FanfareCore
import PushTransport
import Threading

@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

/// An event, a rule and a device.
struct Delivery: Hashable {
    let event: Int64
    let rule: Int32
    let device: Int64
}

/// APNs in two environments: the requests received, and the state of tokens.
final class Provider {
    /// The true state of a token.
    struct Token {
        /// The one target where it is registered; nil for none.
        var home: Int16?
        /// The time since which it is unregistered, by the server's clock.
        var goneSince: Microseconds?
    }

    /// The end of a request, as the provider saw it.
    enum Ending {
        /// Accepted.
        case accepted
        /// Rejected permanently.
        case refused
        /// Rejected for now, or for this environment.
        case again
    }

    /// A request that reached the provider, or was lost on its way.
    struct Request {
        let at: Microseconds
        let delivery: Delivery
        let ending: Ending
        /// Whether the response was lost, so that the daemon cannot know the ending.
        let isAmbiguous: Bool
        /// Whether the daemon received the complete response.
        var isKnown = false
    }

    let world: Simulation
    var scenario: Scenario
    var tokens: [String: Token] = [:]
    private(set) var requests: [Request] = []
    /// The deliveries by their delivery id.
    private var deliveries: [[UInt8]: Delivery] = [:]
    /// Called with each request when it is put on the wire.
    var received: (Delivery, VirtualDaemon) -> Void = { _, _ in }

    init(world: Simulation, scenario: Scenario) {
        self.world = world
        self.scenario = scenario
    }

    /// Registers the ids of an event's deliveries.
    func expect(_ event: Int64, createdAt: Microseconds, type: String, devices: some Sequence<Int64>) {
        for rule in SimulatedRule.all where rule.event == type {
            for device in devices {
                let id = DeliveryID(
                    event: EventID(rawValue: event),
                    createdAt: createdAt,
                    ruleID: Int64(rule.id),
                    deviceID: device
                )
                deliveries[id.textBytes] = Delivery(event: event, rule: rule.id, device: device)
            }
        }
    }

    /// Records that the daemon received the response to a request.
    func tell(_ index: Int) { requests[index].isKnown = true }

    /// Receives a request.
    ///
    /// - Returns: its number, the response, and the time until the response.
    func receive(_ request: PushRequest, target: Int16, from daemon: VirtualDaemon)
        -> (index: Int, answer: PushAnswer, delay: Microseconds)
    {
        guard let delivery = deliveries[request.varyingValue] else { preconditionFailure("an unknown delivery id") }
        received(delivery, daemon)
        let token = String(decoding: request.path.dropFirst("/3/device/".utf8.count), as: UTF8.self)
        let (answer, ending, delay) = answer(to: request.tag, token: token, target: target)
        let isAmbiguous = answer.fate == .ambiguous
        requests.append(Request(at: world.now, delivery: delivery, ending: ending, isAmbiguous: isAmbiguous))
        world.note(UInt64(bitPattern: delivery.device) << 8 | UInt64(answer.status))
        return (requests.count - 1, answer, delay)
    }

    private func answer(to tag: UInt64, token: String, target: Int16) -> (PushAnswer, Ending, Microseconds) {
        let delay = world.chance.time(Micros.millisecond...scenario.slowest)
        var dice = world.chance.unit()
        func falls(_ probability: Double) -> Bool {
            dice -= probability
            return dice < 0
        }
        func lost(_ cause: FateCause = .lost) -> PushAnswer {
            PushAnswer(tag: tag, without: .ambiguous, cause: cause, detail: "simulated")
        }
        func refusal(_ status: UInt16, _ reason: String, _ more: String = "") -> PushAnswer {
            PushAnswer(tag: tag, status: status, body: Array("{\"reason\":\"\(reason)\"\(more)}".utf8))
        }
        if falls(scenario.throttled) { return (refusal(429, "TooManyRequests"), .again, delay) }
        if falls(scenario.serverError) { return (refusal(503, "ServiceUnavailable"), .again, delay) }
        if falls(scenario.requestLost) { return (lost(), .again, delay) }
        if falls(scenario.notProcessed) {
            return (PushAnswer(tag: tag, without: .notProcessed, cause: .lost, detail: "GOAWAY"), .again, delay)
        }
        let isSilent = falls(scenario.silent)
        let isLost = falls(scenario.answerLost) || isSilent
        let known = tokens[token] ?? Token()
        let answer: PushAnswer
        let ending: Ending
        if let gone = known.goneSince {
            (answer, ending) = (refusal(410, "Unregistered", ",\"timestamp\":\(gone / 1000)"), .refused)
        } else if known.home != target {
            (answer, ending) = (refusal(400, "BadDeviceToken"), .again)
        } else {
            (answer, ending) = (PushAnswer(tag: tag, status: 200), .accepted)
        }
        guard isLost else { return (answer, ending, delay) }
        return (lost(isSilent ? .deadline : .lost), ending, isSilent ? 15 * Micros.second : delay)
    }
}

/// A virtual daemon's connection to the provider.
final class SimulatedTransport: PushTransport {
    private struct Flight {
        let index: Int
        let answer: PushAnswer
        let at: Microseconds
    }

    private struct Silent: TransportWaker {
        func wake() {}
    }

    private let provider: Provider
    private let target: Int16
    private unowned let daemon: VirtualDaemon
    private let streams: Int
    /// Requests that were accepted and are not on the wire yet: the connection may not be open yet, or may be full.
    private var waiting: [PushRequest] = []
    private var flights: [Flight] = []
    /// The time at which the connection is open; nil while none is needed.
    private var connectedAt: Microseconds?

    var sendUntil = ContinuousClock.now
    let state = TransportState()
    let waker: any TransportWaker = Silent()

    init(provider: Provider, target: Int16, daemon: VirtualDaemon) {
        self.provider = provider
        self.target = target
        self.daemon = daemon
        streams = provider.scenario.streams
    }

    var inFlight: Int { waiting.count + flights.count }
    var freeSlots: Int { max(0, streams - inFlight) }
    let isGrowing = false
    /// The time of the next response.
    var nextAnswer: Microseconds? { flights.map(\.at).min() }

    func submit(_ requests: ArraySlice<PushRequest>) -> Int {
        waiting += requests
        return requests.count
    }

    func poll(timeout: Duration, into answers: inout [PushAnswer]) {
        let world = provider.world
        let now = Clocks.instant(ofSteady: world.now)
        if now >= sendUntil {
            answers += waiting.map {
                PushAnswer(tag: $0.tag, without: .notSent, cause: .sendUntil, detail: "late")
            }
            waiting = []
        }
        guard isConnected(at: world.now) else { return }
        while let request = waiting.first, !world.chance.happens(0.1) {
            waiting.removeFirst()
            let (index, answer, delay) = provider.receive(request, target: target, from: daemon)
            flights.append(Flight(index: index, answer: answer, at: world.now + delay))
        }
        for flight in flights where flight.at <= world.now {
            provider.tell(flight.index)
            answers.append(flight.answer)
        }
        flights.removeAll { $0.at <= world.now }
    }

    /// Returns whether the connection is open: it is opened for requests, and closed when none is waiting.
    private func isConnected(at now: Microseconds) -> Bool {
        if waiting.isEmpty && flights.isEmpty {
            connectedAt = nil
        } else if connectedAt == nil {
            connectedAt = now + provider.scenario.connecting
        }
        return connectedAt.map { now >= $0 } ?? false
    }

    /// Retires a connection; there is one at a time, so the next has to be opened first.
    func retire(_ connection: UInt64) {
        connectedAt = nil
    }

    func close(into answers: inout [PushAnswer]) {
        answers += flights.map { PushAnswer(tag: $0.answer.tag, without: .ambiguous, cause: .closed, detail: "closed") }
        answers += waiting.map { PushAnswer(tag: $0.tag, without: .notSent, cause: .closed, detail: "closed") }
        (flights, waiting) = ([], [])
    }
}
