internal import CCurl
import Glibc
internal import PushTransport

/// An eventfd that a poll watches beside its sockets.
///
/// libcurl's own `curl_multi_wakeup` wakes one multi handle; here several are waited for at once.
final class EventWaker: TransportWaker {
    /// Readable after ``wake()``.
    let descriptor: Int32

    private init(owning descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Makes a waker.
    static func open() throws(TransportError) -> EventWaker {
        let descriptor = ccurl_eventfd()
        guard descriptor >= 0 else {
            let problem = unsafe String(cString: strerror(errno))
            throw TransportError(reason: .call("eventfd", problem: problem))
        }
        return EventWaker(owning: descriptor)
    }

    func wake() {
        var one: UInt64 = 1
        _ = unsafe write(descriptor, &one, MemoryLayout<UInt64>.size)
    }

    /// Takes back what was said by ``wake()``.
    func reset() {
        var count: UInt64 = 0
        _ = unsafe read(descriptor, &count, MemoryLayout<UInt64>.size)
    }
}
