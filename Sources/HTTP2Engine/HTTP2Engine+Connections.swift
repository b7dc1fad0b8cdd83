import PushTransport

/// Selects the connection for each request, and decides when to open another one.
extension HTTP2Engine {
    /// Whether connections are missing; one is opened only when all slots of the existing ones are in use.
    public var isGrowing: Bool { missingConnections > 0 }

    /// Returns the number of connections that may be opened now.
    func openableConnections() -> Int {
        let missing = missingConnections
        return missing == 0 ? 0 : min(missing, bucket.available(now: now))
    }

    /// Returns when the next missing connection may be opened.
    func nextPermittedConnect() -> MonotonicTime {
        guard missingConnections > 0, bucket.available(now: now) == 0 else { return .max }
        return bucket.nextToken()
    }

    /// Returns the connection with the most free slots, and how many requests to assign to it before selecting again.
    ///
    /// Opens a connection first where one is missing and may be opened.
    func connectionForNext() -> (connection: Connection, room: Int)? {
        var (roomiest, most, second): (Connection?, Int, Int) = (nil, 0, 0)
        var wantsSuccessor = false
        for connection in connections {
            let free = connection.machine.freeSlots
            if free > most {
                (roomiest, most, second) = (connection, free, most)
            } else {
                second = max(second, free)
            }
            if connection.machine.isOld && connection.machine.phase == .established { wantsSuccessor = true }
        }
        if let roomiest, !wantsSuccessor || openableConnections() == 0 {
            return (roomiest, min(most, most - second + Self.share))
        }
        guard openableConnections() > 0, bucket.take(now: now) else { return nil }
        do throws(TransportError) {
            let connection = try Connection.open(setting, name: nextName(), now: now)
            connections.append(connection)
            return (connection, 1)
        } catch {
            counters.lastConnectFailure = error.description
            return nil
        }
    }

    /// Queues a request until a connection is available.
    func enqueue(_ request: PushRequest) { queue.append(Queued(request: request, submittedAt: now)) }

    /// Assigns queued requests to connections while there are free slots.
    func placeQueued() {
        guard !queue.isEmpty else { return }
        var placed = 0
        while placed < queue.count, let (connection, _) = connectionForNext() {
            hand(queue[placed].request, to: connection, submittedAt: queue[placed].submittedAt)
            placed += 1
        }
        queue.removeFirst(placed)
    }

    /// Takes requests back from a connection that may not send them: it is retired, or the peer lowered its limit.
    func reclaim(from connection: Connection) {
        while connection.machine.attached > connection.machine.window, let taken = connection.session.table.takeBack() {
            connection.machine.withdraw()
            queue.append(Queued(request: taken.request, submittedAt: taken.submittedAt))
        }
    }

    /// Marks connections that have reached their maximum age, and closes retired connections without requests.
    func tendConnections(into answers: inout [PushAnswer]) {
        let age = options.maxConnectionAge.nanoseconds
        var finished = false
        for connection in connections {
            connection.tend(now: now)
            let machine = connection.machine
            if machine.phase == .established, !machine.isOld, now - machine.establishedAt >= age {
                connection.machine.growOld()
            }
            reclaim(from: connection)
            if let failure = connection.failure {
                bury(connection, failure, into: &answers)
                finished = true
            } else if machine.isFinished {
                connection.close()
                finished = true
            }
        }
        if finished { connections.removeAll { $0.machine.isFinished } }
    }

    /// Drains the oldest connection past its maximum age once a successor has answered.
    func replaceOldConnection() {
        let old = connections.filter { $0.machine.isOld && $0.machine.phase == .established }
        old.min { $0.machine.establishedAt < $1.machine.establishedAt }?.machine.retire()
    }

    /// The number of missing connections; old ones do not count, so that each is replaced while it still works.
    private var missingConnections: Int {
        var current = 0
        for connection in connections where connection.machine.phase != .retired && !connection.machine.isOld {
            current += 1
        }
        return max(max(options.connections, 1) - current, 0)
    }

    /// The number of consecutive requests that one connection gets while others have as many free slots.
    private static let share = 8
}
