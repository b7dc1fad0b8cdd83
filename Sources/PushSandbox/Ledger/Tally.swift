/// The counts of a sandbox, updated with each request.
struct Tally {
    private struct Answer: Hashable {
        let provider: SimulatedService
        let status: Int
        let reason: String?
    }

    private(set) var received = 0
    private var counts = SandboxCounts()
    private var answers: [Answer: Int] = [:]
    /// Hashes of the tokens, 8 bytes for each of millions of devices.
    ///
    /// With ten million tokens, the probability of any collision is one in 400,000.
    private var tokens: Set<UInt64> = []
    private var delivered: Set<UInt64> = []
    /// The most memberships that are counted; further ones are not.
    private static let mostMemberships = 4_000_000
    /// The number of requests that were served for each membership of a topic, by the membership's hash.
    private var memberships: [UInt64: Int] = [:]

    mutating func count(_ reception: Reception) {
        received += 1
        let key = Answer(provider: reception.provider, status: reception.status, reason: reception.reason)
        answers[key, default: 0] += 1
        let isAccepted = (200..<300).contains(reception.status)
        if isAccepted {
            counts.accepted += 1
        } else if reception.status == 0 {
            counts.unanswered += 1
        }
        if reception.problem != nil {
            counts.problems += 1
        }
        count(membershipOf: reception)
        guard reception.delivers, isAccepted || reception.isAmbiguous else { return }
        var hash = StableHash()
        hash.combine(reception.target)
        if isAccepted {
            tokens.insert(hash.value)
        }
        guard let identity = reception.identity else { return }
        hash.combine(identity)
        if !delivered.insert(hash.value).inserted {
            counts.duplicates += 1
        }
    }

    /// Counts a request that changes a membership, unless the answer is that it cannot be served now.
    private mutating func count(membershipOf reception: Reception) {
        guard let membership = reception.membership, reception.status != 429, reception.status < 500 else { return }
        var hash = StableHash()
        hash.combine(membership)
        guard memberships.count < Self.mostMemberships || memberships[hash.value] != nil else { return }
        let requests = memberships[hash.value, default: 0] + 1
        memberships[hash.value] = requests
        counts.requestsPerMembership = max(counts.requestsPerMembership, requests)
    }

    mutating func connectionOpened() {
        counts.connections += 1
        counts.openConnections += 1
    }

    mutating func connectionClosed(maxStreams: Int) {
        counts.openConnections -= 1
        raise(maxStreams: maxStreams)
    }

    mutating func raise(maxStreams: Int) {
        counts.maxStreams = max(counts.maxStreams, maxStreams)
    }

    mutating func streamRefused() {
        counts.refusedStreams += 1
    }

    mutating func streamCancelled() {
        counts.cancelledStreams += 1
    }

    var snapshot: SandboxCounts {
        var snapshot = counts
        snapshot.received = received
        snapshot.distinctTokens = tokens.count
        snapshot.memberships = memberships.count
        for (answer, count) in answers {
            let status = answer.status == 0 ? "none" : String(answer.status)
            let label = answer.reason.map { status + " " + $0 } ?? status
            snapshot.byProvider[answer.provider.rawValue, default: [:]][label, default: 0] += count
        }
        return snapshot
    }
}
