import Glibc

/// The sockets of all connections in the form that poll(2) wants, and whose they are.
struct WatchList {
    private var descriptors: [pollfd] = []
    private var owners: [Connection] = []

    /// Collects the sockets anew.
    mutating func rebuild(waker: Int32, connections: [Connection]) {
        descriptors = [pollfd(fd: waker, events: Int16(POLLIN), revents: 0)]
        owners = []
        for connection in connections {
            descriptors += connection.watched
            owners += Array(repeating: connection, count: connection.watched.count)
        }
    }

    /// Sleeps until a socket is ready, somebody wakes, or the time is over.
    ///
    /// - Parameter nanoseconds: how long at most; rounded up to whole milliseconds.
    mutating func wait(nanoseconds: Int64) {
        let milliseconds = min((max(nanoseconds, 0) + 999_999) / 1_000_000, Int64(Int32.max))
        let ready = unsafe Glibc.poll(&descriptors, nfds_t(descriptors.count), Int32(milliseconds))
        guard ready <= 0 else { return }
        // Nothing is ready, or a signal interrupted: what revents hold then is not specified.
        for index in descriptors.indices { descriptors[index].revents = 0 }
    }

    /// Whether somebody woke the poll.
    var isWoken: Bool { descriptors.first.map { $0.revents != 0 } ?? false }

    /// The sockets that are ready.
    var ready: [(connection: Connection, socket: pollfd)] {
        var ready: [(connection: Connection, socket: pollfd)] = []
        for (owner, descriptor) in zip(owners, descriptors.dropFirst()) where descriptor.revents != 0 {
            ready.append((owner, descriptor))
        }
        return ready
    }
}
