internal import CNGHTTP2
import Glibc
internal import PushTransport
internal import Threading

/// A socket address in the system's form.
struct SocketAddress: Sendable {
    let family: Int32
    let bytes: [UInt8]
}

/// One lookup of an endpoint's addresses on a thread of its own, because getaddrinfo blocks and cannot be cancelled.
///
/// A caller that no longer needs the result releases the object. The thread ends by itself, at the latest when the
/// system's resolver times out.
final class Resolution: Sendable {
    /// The result of a lookup.
    enum Outcome: Sendable {
        /// The addresses, in the system's order of preference (RFC 6724).
        case addresses([SocketAddress])
        /// The lookup failed, for this reason.
        case failed(String)
    }

    private let outcome = Locked<Outcome?>(nil)

    private init() {}

    /// Starts a lookup; for a literal address the result is available at once.
    ///
    /// - Parameters:
    ///   - endpoint: the endpoint to resolve.
    ///   - waker: called when the result is available.
    /// - Returns: the lookup.
    static func start(_ endpoint: Endpoint, waking waker: WakeSignal) -> Resolution {
        let resolution = Resolution()
        let numeric = lookUp(endpoint, numericOnly: true)
        if case .addresses = numeric {
            resolution.outcome.withLock { $0 = numeric }
            return resolution
        }
        // The thread ends by itself; the object keeps the result.
        let thread = WorkerThread.startIfPossible(name: "resolve") {
            let outcome = lookUp(endpoint, numericOnly: false)
            resolution.outcome.withLock { $0 = outcome }
            waker.wake()
        }
        if thread == nil {
            let problem = "\(endpoint.host) could not be resolved: the system has no thread left"
            resolution.outcome.withLock { $0 = .failed(problem) }
        }
        return resolution
    }

    /// The result; nil until the lookup has ended.
    var result: Outcome? { outcome.withLock { $0 } }

    private static func lookUp(_ endpoint: Endpoint, numericOnly: Bool) -> Outcome {
        var hints = unsafe addrinfo()
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        unsafe hints.ai_flags = AI_NUMERICSERV | (numericOnly ? AI_NUMERICHOST : 0)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = unsafe getaddrinfo(endpoint.host, "\(endpoint.port)", &hints, &list)
        guard code == 0 else {
            let problem = code == EAI_SYSTEM ? unsafe String(cString: strerror(errno)) : describeLookUp(code)
            return .failed("\(endpoint.host) could not be resolved: \(problem)")
        }
        defer { unsafe freeaddrinfo(list) }
        var addresses: [SocketAddress] = []
        var next = unsafe list
        while let entry = unsafe next {
            if let address = unsafe entry.pointee.ai_addr {
                let bytes = unsafe UnsafeRawBufferPointer(start: address, count: Int(entry.pointee.ai_addrlen))
                unsafe addresses.append(SocketAddress(family: unsafe entry.pointee.ai_family, bytes: Array(bytes)))
            }
            unsafe next = entry.pointee.ai_next
        }
        return addresses.isEmpty ? .failed("\(endpoint.host) has no address") : .addresses(addresses)
    }

    private static func describeLookUp(_ code: Int32) -> String { unsafe String(cString: gai_strerror(code)) }
}
