import PushTransport

/// Which connection takes a request, and when one is opened.
extension HTTP2Client {
    /// Whether connections are missing: they are opened when all slots of the others are taken, and not before.
    public var isGrowing: Bool { missingConnections > 0 }

    /// How many connections may be opened now.
    func openableConnections() -> Int {
        min(missingConnections, bucket.available(now: context.now), context.rules.budget.left)
    }

    /// When a connection may be opened that is wanted and was not allowed yet.
    func nextPermittedConnect() -> MonotonicTime {
        guard missingConnections > 0, context.rules.budget.left > 0, bucket.available(now: context.now) == 0 else {
            return .max
        }
        return bucket.nextToken()
    }

    /// Hands a request to a connection, or lets it wait for one.
    func place(_ transfer: Transfer) {
        if attach(transfer) { return }
        context.checkBy(context.now + options.connectTimeout.nanoseconds)
        queue.append(transfer)
    }

    /// Hands waiting requests to connections, as far as there are any.
    func placeQueued() {
        guard !queue.isEmpty else { return }
        let placed = queue.firstIndex { !attach($0) } ?? queue.count
        queue.removeFirst(placed)
    }

    /// Marks connections that have had their time, and closes those that are done.
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

    /// Drains the oldest connection that has had its time, now that a successor has answered.
    func replaceOldConnection() {
        let old = connections.filter { $0.machine.isOld && $0.machine.phase == .established }
        old.min { $0.machine.establishedAt < $1.machine.establishedAt }?.machine.retire()
    }

    /// Old connections do not count: each is to be followed by a new one while it still works.
    private var missingConnections: Int {
        let current = connections.count { $0.machine.phase != .retired && !$0.machine.isOld }
        // A connection that takes one request at a time is worth little, so there may be more of them.
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
            // Out of memory, or a broken multi handle: the request waits for another connection.
            connection.lose()
            return false
        }
        context.checkBy(context.now + stallTime)
        return true
    }
}

/// How many connections an origin gets that speaks HTTP/1.1.
private let connectionsWithoutStreams = 6

/// How long a connection may owe an answer to everybody before requests that still wait inside libcurl leave it:
/// after GOAWAY libcurl lets them wait for as long as one old stream is open.
let stallTime: Int64 = 1_000_000_000
