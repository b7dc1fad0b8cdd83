internal import FanfareCore
internal import FanfareProviders

/// The memberships of one step of a change: which to request next, and what follows each answer.
///
/// A step ends when each membership has its result. Memberships are requested in order, repeats before new ones.
struct TopicStep {
    /// The result for one membership.
    enum Result: Equatable {
        case done, gone, unserved
        case refused(String)
    }

    /// What an answer means for the whole job.
    enum Consequence: Equatable {
        /// Nothing.
        case none
        /// No request may be sent for this long.
        case hold(Microseconds)
        /// The access token must be renewed.
        case renew
        /// The project may be missing.
        case doubt
        /// The job ends.
        case stop(FCMTopicVerdict.Cause, words: String)
    }

    private struct Member {
        var result: Result?
        /// The number of requests that FCM may have processed.
        var requests = 0
        var failures = 0
        var throttles = 0
        var wasUnauthenticated = false
    }

    private let pace: FCMTopicPace
    private var members: [Member]
    /// The first membership that was never requested.
    private var fresh = 0
    /// Memberships to be requested again, with their times.
    private var again: [(index: Int, at: Microseconds)] = []
    /// The number of memberships with a result.
    private(set) var settled = 0
    /// The number of those that FCM refused.
    private(set) var refused = 0

    /// Makes a step.
    ///
    /// - Parameters:
    ///   - count: the number of memberships.
    ///   - pace: the waits after failures.
    init(count: Int, pace: FCMTopicPace) {
        self.pace = pace
        members = Array(repeating: Member(), count: count)
    }

    /// Whether each membership has its result.
    var isDone: Bool { settled == members.count }

    /// Whether FCM could serve none of the memberships.
    var isUnserved: Bool { !members.isEmpty && members.allSatisfy { $0.result == .unserved } }

    /// Whether a membership waits to be requested now.
    func hasDue(now: Microseconds) -> Bool { fresh < members.count || again.contains { $0.at <= now } }

    /// The time of the next repeat; nil if there is none.
    var nextRepeat: Microseconds? { again.lazy.map(\.at).min() }

    /// The number of memberships from the first one on that all have their results.
    var prefix: Int { members.firstIndex { $0.result == nil } ?? members.count }

    /// Takes memberships to request now.
    ///
    /// - Parameters:
    ///   - most: the largest number.
    ///   - now: the time (steady clock).
    /// - Returns: their indices; each of them must be answered.
    mutating func take(_ most: Int, now: Microseconds) -> [Int] {
        guard most > 0 else { return [] }
        var taken: [Int] = []
        if !again.isEmpty {
            let due = again.filter { $0.at <= now }.prefix(most)
            taken = due.map(\.index)
            let indices = Set(taken)
            again.removeAll { indices.contains($0.index) }
        }
        let end = min(members.count, fresh + most - taken.count)
        taken += fresh..<end
        fresh = end
        return taken
    }

    /// Returns memberships that were taken and not submitted.
    mutating func giveBack(_ indices: ArraySlice<Int>, now: Microseconds) {
        again += indices.map { ($0, now) }
    }

    /// Settles a membership, or lets it wait for a repeat.
    ///
    /// - Parameters:
    ///   - index: the membership.
    ///   - verdict: the judgement on the answer; a retry for a missing answer.
    ///   - isRequested: whether FCM may have processed the request.
    ///   - now: the time (steady clock).
    ///   - random: a number evenly distributed in 0..<1.
    /// - Returns: what follows for the job.
    mutating func answer(
        _ index: Int,
        _ verdict: FCMTopicVerdict,
        isRequested: Bool,
        now: Microseconds,
        random: Double
    ) -> Consequence {
        if isRequested { members[index].requests += 1 }
        switch verdict {
        case .done: settle(index, .done)
        case .missing:
            settle(index, .done)
            return .doubt
        case .unknown:
            settle(index, .gone)
            return .doubt
        case .gone: settle(index, .gone)
        case .refused(let code): settle(index, .refused(code))
        case .throttled(let floor):
            members[index].throttles += 1
            let wait = pace.hold(floor: floor, random: random)
            repeatOrGiveUp(index, after: members[index].throttles, at: now + wait)
            return .hold(wait)
        case .retry(let floor):
            members[index].failures += 1
            let failures = members[index].failures
            repeatOrGiveUp(index, after: failures, at: now + pace.wait(after: failures, floor: floor, random: random))
        case .renewCredential:
            // A new token does not help a membership that had one.
            guard !members[index].wasUnauthenticated else {
                settle(index, .refused("UNAUTHENTICATED"))
                break
            }
            members[index].wasUnauthenticated = true
            again.append((index, now))
            return .renew
        case .stop(let cause, let words):
            again.append((index, now))
            return .stop(cause, words: words)
        }
        return .none
    }

    private mutating func repeatOrGiveUp(_ index: Int, after failures: Int, at time: Microseconds) {
        if failures < pace.attempts { again.append((index, time)) } else { settle(index, .unserved) }
    }

    private mutating func settle(_ index: Int, _ result: Result) {
        members[index].result = result
        settled += 1
        if case .refused = result { refused += 1 }
    }

    /// Counts the results of the first memberships.
    ///
    /// - Parameter count: the number of memberships; nil for all that have a result.
    /// - Returns: the counts.
    func tally(ofFirst count: Int? = nil) -> TopicTally {
        var tally = TopicTally()
        for member in members.prefix(count ?? members.count) {
            guard let result = member.result else { continue }
            switch result {
            case .done: tally.done += 1
            case .gone: tally.gone += 1
            case .unserved: tally.unserved += 1
            case .refused(let code): tally.refuse(code)
            }
            tally.repeated += Int64(max(member.requests - 1, 0))
        }
        return tally
    }
}
