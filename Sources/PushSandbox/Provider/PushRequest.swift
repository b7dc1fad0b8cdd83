import NIOCore
import NIOHPACK

/// The head of one HTTP/2 request, its pseudo-headers set apart.
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
}

/// One complete request as a simulated provider sees it.
struct PushRequest {
    let head: RequestHead
    let environment: Environment
    let body: ByteBuffer
    /// CLOCK_MONOTONIC at the complete request, in nanoseconds.
    let atNanoseconds: UInt64
    /// Wall clock at the complete request, in microseconds since 1970.
    let unixMicroseconds: Int64
}
