import PushTransport

/// Which connection takes a request, and when one is opened.
extension HTTP2Engine {
    /// Whether connections are missing: they are opened when all slots of the others are taken, and not before.
    public var isGrowing: Bool { missingConnections > 0 }

    /// How many connections may be opened now.
    func openableConnections() -> Int {
        let missing = missingConnections
        return missing == 0 ? 0 : min(missing, bucket.available(now: now))
    }

    /// When a connection may be opened that is wanted and was not allowed yet.
    func nextPermittedConnect() -> MonotonicTime {
        guard missingConnections > 0, bucket.available(now: now) == 0 else { return .max }
        return bucket.nextToken()
    }

    /// Where the next request goes: the connection with most room, and how many it should get before this is asked again.
    ///
    /// Opens one where it may and should.
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

    /// Lets a request wait for a connection.
    func enqueue(_ request: PushRequest) { queue.append(Queued(request: request, submittedAt: now)) }

    /// Hands waiting requests to connections, as far as there are any.
    func placeQueued() {
        guard !queue.isEmpty else { return }
        var placed = 0
        while placed < queue.count, let (connection, _) = connectionForNext() {
            hand(queue[placed].request, to: connection, submittedAt: queue[placed].submittedAt)
            placed += 1
        }
        queue.removeFirst(placed)
    }

    /// Takes requests back from a connection that may not send them: it is to go, or the peer allows fewer than it did.
    func reclaim(from connection: Connection) {
        while connection.machine.attached > connection.machine.window, let taken = connection.session.table.takeBack() {
            connection.machine.withdraw()
            queue.append(Queued(request: taken.request, submittedAt: taken.submittedAt))
        }
    }

    /// Marks connections that have had their time, and closes those that are done.
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

    /// Drains the oldest connection that has had its time, now that a successor has answered.
    func replaceOldConnection() {
        let old = connections.filter { $0.machine.isOld && $0.machine.phase == .established }
        old.min { $0.machine.establishedAt < $1.machine.establishedAt }?.machine.retire()
    }

    /// Old connections do not count: each is to be followed by a new one while it still works.
    private var missingConnections: Int {
        var current = 0
        for connection in connections where connection.machine.phase != .retired && !connection.machine.isOld {
            current += 1
        }
        return max(max(options.connections, 1) - current, 0)
    }

    /// How many requests one connection gets in a row where others have as much room.
    private static let share = 8
}
