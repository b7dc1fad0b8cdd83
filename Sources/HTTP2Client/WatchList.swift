import Glibc

/// The sockets of all connections as poll(2) takes them, with the connection of each.
struct WatchList {
    private var descriptors: [pollfd] = []
    private var owners: [Connection] = []

    /// Rebuilds the list.
    mutating func rebuild(waker: Int32, connections: [Connection]) {
        descriptors = [pollfd(fd: waker, events: Int16(POLLIN), revents: 0)]
        owners = []
        for connection in connections {
            descriptors += connection.watched
            owners += Array(repeating: connection, count: connection.watched.count)
        }
    }

    /// Waits until a socket is ready, a waker is called, or the timeout expires.
    ///
    /// - Parameter nanoseconds: the timeout, rounded up to whole milliseconds.
    mutating func wait(nanoseconds: Int64) {
        let milliseconds = min((max(nanoseconds, 0) + 999_999) / 1_000_000, Int64(Int32.max))
        let ready = unsafe Glibc.poll(&descriptors, nfds_t(descriptors.count), Int32(milliseconds))
        guard ready <= 0 else { return }
        // After a timeout or a signal the contents of `revents` are unspecified.
        for index in descriptors.indices { descriptors[index].revents = 0 }
    }

    /// Whether a waker was called.
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
