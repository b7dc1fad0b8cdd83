import PushTransport

/// Selects the connection for each request, and decides when to open another one.
extension OriginClient {
    /// Returns the number of connections that may be opened now.
    func openableConnections() -> Int {
        min(missingConnections, bucket.available(now: context.now), context.rules.budget.left)
    }

    /// Returns when the next missing connection may be opened.
    func nextPermittedConnect() -> MonotonicTime {
        guard missingConnections > 0, context.rules.budget.left > 0, bucket.available(now: context.now) == 0 else {
            return .max
        }
        return bucket.nextToken()
    }

    /// Assigns a request to a connection, or queues it until one is available.
    func place(_ transfer: Transfer) {
        if attach(transfer) { return }
        context.checkBy(context.now + options.connectTimeout.nanoseconds)
        queue.append(transfer)
    }

    /// Assigns queued requests to connections while there are free slots.
    func placeQueued() {
        guard !queue.isEmpty else { return }
        let placed = queue.firstIndex { !attach($0) } ?? queue.count
        queue.removeFirst(placed)
    }

    /// Marks connections that have reached their maximum age, and closes retired connections without requests.
    func tendConnections() {
        let age = options.maxConnectionAge.nanoseconds
        var finished = false
        for connection in connections {
            let machine = connection.machine
            if machine.phase == .established, !machine.isOld, context.now - machine.establishedAt >= age {
                connection.machine.growOld()
            }
            if machine.isIdle, context.now - machine.lastAnswerAt >= context.rules.idleTimeout {
                connection.machine.retire()
            }
            if connection.machine.isFinished {
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
        let current = connections.count { $0.machine.phase != .retired && !$0.machine.isOld }
        // A connection that takes one request at a time has little throughput, so more of them are allowed.
        let wanted = takesTurns ? max(options.connections, connectionsWithoutStreams) : options.connections
        return max(wanted - current, 0)
    }

    private func attach(_ transfer: Transfer) -> Bool {
        let roomiest = connections.max { $0.machine.freeSlots < $1.machine.freeSlots }
        let hasRoom = (roomiest?.machine.freeSlots ?? 0) > 0
        let wantsSuccessor = connections.contains { $0.machine.isOld && $0.machine.phase == .established }
        if let roomiest, hasRoom, !wantsSuccessor || openableConnections() == 0 {
            return add(transfer, to: roomiest)
        }
        guard openableConnections() > 0, bucket.take(now: context.now) else { return false }
        do throws(TransportError) {
            let connection = try Connection.open(streams: options.streams, context: context)
            connections.append(connection)
            return add(transfer, to: connection)
        } catch {
            context.state.lastConnectFailure = error.description
            return false
        }
    }

    private func add(_ transfer: Transfer, to connection: Connection) -> Bool {
        do throws(TransportError) {
            try connection.add(transfer)
        } catch {
            // Memory ran out or the multi handle is broken: the request waits for another connection.
            connection.lose()
            return false
        }
        context.checkBy(context.now + stallTime)
        return true
    }
}

/// The number of connections to an origin that speaks HTTP/1.1.
private let connectionsWithoutStreams = 6

/// Nanoseconds without any answer on a connection after which requests that wait inside libcurl are moved to another
/// one.
///
/// After GOAWAY, libcurl would let them wait until the last old stream is closed.
let stallTime: Int64 = 1_000_000_000
