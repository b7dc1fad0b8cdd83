import FanfareCore

/// The faults of a run, drawn from its seed.
struct Scenario {
    /// The kinds of faults, so that each promise is also tested under faults that must not weaken it.
    ///
    /// The last is as frequent as the others together.
    enum Kind: CaseIterable {
        /// No faults: exactly one request for each delivery.
        case calm
        /// Faults of providers only: no request beyond those that the responses ask for.
        case providers
        /// Sessions are lost, except for the control session: nothing is repeated.
        case sessions
        /// Daemons crash.
        case crashes
        /// All faults.
        case everything
    }

    let kind: Kind
    let daemons: Int
    let devices: Int
    let events: Int
    /// The in-flight budget of each daemon.
    let unrecorded = 32
    let batchSize = 8
    /// The end of the faults.
    let chaosEnd: Microseconds
    /// The longest time until a provider's response; deliveries that are in flight for long meet more faults.
    let slowest: Microseconds
    /// The number of concurrent requests.
    let streams: Int

    /// The probability of each kind of response or loss.
    var throttled = 0.0
    var serverError = 0.0
    var answerLost = 0.0
    var requestLost = 0.0
    var notProcessed = 0.0
    var silent = 0.0
    /// The share of devices whose token is unregistered, of the other environment, or of neither.
    var gone = 0.0
    var elsewhere = 0.0
    var nowhere = 0.0
    /// The probability that a statement loses its session.
    var sessionLoss = 0.0
    /// The mean time between crashes, pauses, restarts of the database, and so on; nil for never.
    var crashEvery: Microseconds?
    var pauseEvery: Microseconds?
    var restartEvery: Microseconds?
    var controlLossEvery: Microseconds?
    var cutOffEvery: Microseconds?
    var clockSetEvery: Microseconds?
    /// The probability that a daemon crashes or is stopped in the middle of a statement.
    var stepTrouble = 0.0
    /// The time that opening a connection takes.
    let connecting: Microseconds

    init(chance: inout Chance) {
        kind = chance.happens(0.4) ? .everything : Kind.allCases[chance.number(0...Kind.allCases.count - 1)]
        daemons = chance.number(1...3)
        devices = chance.number(6...30)
        events = chance.number(1...5)
        chaosEnd = chance.time(4 * Micros.second...15 * Micros.second)
        slowest =
            chance.happens(0.5) ? 60 * Micros.millisecond : chance.time(100 * Micros.millisecond...3 * Micros.second)
        streams = chance.happens(0.5) ? chance.number(4...40) : chance.number(1...3)
        if kind == .providers || kind == .everything {
            throttled = chance.unit() * 0.03
            serverError = chance.unit() * 0.2
            answerLost = chance.unit() * 0.1
            requestLost = chance.unit() * 0.1
            notProcessed = chance.unit() * 0.1
            silent = chance.unit() * (chance.happens(0.3) ? 0.2 : 0.02)
        }
        if kind != .calm {
            gone = chance.unit() * 0.2
            elsewhere = chance.unit() * 0.2
            nowhere = chance.unit() * 0.1
        }
        if kind == .sessions || kind == .everything { sessionLoss = chance.unit() * 0.02 }
        if kind == .crashes || kind == .everything { crashEvery = chance.time(Micros.second...8 * Micros.second) }
        if kind == .everything {
            pauseEvery = chance.time(2 * Micros.second...10 * Micros.second)
            restartEvery = chance.time(5 * Micros.second...20 * Micros.second)
            controlLossEvery = chance.time(2 * Micros.second...10 * Micros.second)
            cutOffEvery = chance.time(4 * Micros.second...20 * Micros.second)
            stepTrouble = chance.unit() * 0.01
        }
        if kind != .calm { clockSetEvery = chance.time(2 * Micros.second...20 * Micros.second) }
        connecting = chance.happens(0.2) ? chance.time(500 * Micros.millisecond...4 * Micros.second) : 0
    }
}
