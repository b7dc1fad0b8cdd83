internal import CNGHTTP2
import Glibc
internal import PushTransport

/// An epoll instance, which reports the descriptors that are ready.
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

    /// Creates an instance that watches nothing.
    static func open() throws(TransportError) -> Poller {
        let descriptor = cnghttp2_epoll()
        guard descriptor >= 0 else {
            throw TransportError(reason: .call("epoll_create1", problem: unsafe String(cString: strerror(errno))))
        }
        return Poller(owning: descriptor)
    }

    /// Starts to watch a descriptor, or changes what is watched for; closing the descriptor ends it.
    func watch(_ other: Int32, named name: UInt64, wantsWrite: Bool) {
        _ = cnghttp2_watch(descriptor, other, name, wantsWrite ? 1 : 0)
    }

    /// Waits until a descriptor is ready or the timeout expires.
    ///
    /// - Parameters:
    ///   - nanoseconds: the timeout, rounded up to whole milliseconds.
    ///   - body: receives the name of each descriptor that is ready.
    func wait(nanoseconds: Int64, _ body: (UInt64) -> Void) {
        let milliseconds = min((max(nanoseconds, 0) + 999_999) / 1_000_000, Int64(Int32.max))
        let count = unsafe cnghttp2_wait(descriptor, names, Int32(Self.limit), Int32(milliseconds))
        for index in 0..<max(Int(count), 0) { unsafe body(names[index]) }
    }
}
