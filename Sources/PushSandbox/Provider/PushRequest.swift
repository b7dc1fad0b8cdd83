import NIOCore
import NIOHPACK

/// The head of an HTTP/2 request, with separate pseudo-headers.
struct RequestHead {
    var method = ""
    var authority = ""
    var path = ""
    let fields: HPACKHeaders

    init(_ headers: HPACKHeaders) {
        fields = headers
        for (name, value, _) in headers {
            guard name.utf8.first == UInt8(ascii: ":") else { break }
            switch name {
            case ":path": path = value
            case ":method": method = value
            case ":authority": authority = value
            default: break
            }
        }
    }

    /// Returns the first value of a header field, by its lower-case name.
    func header(_ name: String) -> String? {
        fields.first(name: name)
    }

    /// `authority` without its port.
    var host: Substring {
        authority.hasPrefix("[") ? authority[...] : authority.prefix { $0 != ":" }
    }

    /// Scheme, host, and the port if it is not the default (RFC 6454 section 6.2).
    var origin: String {
        "https://" + (authority.hasSuffix(":443") ? String(authority.dropLast(4)) : authority)
    }
}

/// A complete request to a simulated provider.
struct PushRequest {
    let head: RequestHead
    let environment: Environment
    let body: ByteBuffer
    /// CLOCK_MONOTONIC at the end of the request, in nanoseconds.
    let atNanoseconds: UInt64
    /// The wall clock at the end of the request, in microseconds since 1970.
    let unixMicroseconds: Int64

    /// The body.
    var bytes: [UInt8] { Array(body.readableBytesView) }
    /// The length of the body in bytes.
    var length: Int { body.readableBytes }
}
