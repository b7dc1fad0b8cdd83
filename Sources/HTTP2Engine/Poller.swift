internal import CNGHTTP2
import Glibc
internal import PushTransport

/// An epoll instance: which of some descriptors are ready.
@safe
struct Poller: ~Copyable {
    private let descriptor: Int32
    private let names: UnsafeMutablePointer<UInt64>
    private static let limit = 64

    private init(owning descriptor: Int32) {
        self.descriptor = descriptor
        unsafe names = .allocate(capacity: Self.limit)
    }

    deinit {
        close(descriptor)
        unsafe names.deallocate()
    }

    /// Makes one that watches nothing.
    static func open() throws(TransportError) -> Poller {
        let descriptor = cnghttp2_epoll()
        guard descriptor >= 0 else {
            throw TransportError(reason: .call("epoll_create1", problem: unsafe String(cString: strerror(errno))))
        }
        return Poller(owning: descriptor)
    }

    /// Watches a descriptor, from now on or otherwise than before; closing it ends that.
    func watch(_ other: Int32, named name: UInt64, wantsWrite: Bool) {
        _ = cnghttp2_watch(descriptor, other, name, wantsWrite ? 1 : 0)
    }

    /// Sleeps until something is ready or the time is over.
    ///
    /// - Parameters:
    ///   - nanoseconds: how long at most; rounded up to whole milliseconds.
    ///   - body: gets the name of each that is ready.
    func wait(nanoseconds: Int64, _ body: (UInt64) -> Void) {
        let milliseconds = min((max(nanoseconds, 0) + 999_999) / 1_000_000, Int64(Int32.max))
        let count = unsafe cnghttp2_wait(descriptor, names, Int32(Self.limit), Int32(milliseconds))
        for index in 0..<max(Int(count), 0) { unsafe body(names[index]) }
    }
}
