import NIOHPACK

/// A push request whose parts a test can change.
struct TestRequest {
    static let token = "0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9"
    static let payload = #"{"aps":{"alert":{"title":"Order 7","body":"Shipped"},"badge":1},"order":7}"#

    var method = "POST"
    var path: String
    var headers: [(String, String)]
    var content = Array(TestRequest.payload.utf8)
    var authority = "localhost"

    var body: String { String(decoding: content, as: UTF8.self) }

    init(token: String = TestRequest.token, id: String? = nil, authorization: String?) {
        path = "/3/device/\(token)"
        headers = [("apns-topic", "com.example.demo"), ("apns-push-type", "alert"), ("apns-priority", "10")]
        if let id { headers.append(("apns-id", id)) }
        if let authorization { headers.append(("authorization", authorization)) }
    }

    init(_ method: String = "POST", path: String, headers: [(String, String)], body: String = "") {
        self.method = method
        self.path = path
        self.headers = headers
        content = Array(body.utf8)
    }

    /// Returns the request with one header set or replaced, or removed by nil.
    func with(_ name: String, _ value: String?) -> TestRequest {
        var copy = self
        copy.headers.removeAll { $0.0 == name }
        if let value { copy.headers.append((name, value)) }
        return copy
    }

    func adding(_ name: String, _ value: String) -> TestRequest {
        var copy = self
        copy.headers.append((name, value))
        return copy
    }

    func with(path: String) -> TestRequest {
        var copy = self
        copy.path = path
        return copy
    }

    func with(method: String) -> TestRequest {
        var copy = self
        copy.method = method
        return copy
    }

    func with(body: String) -> TestRequest {
        var copy = self
        copy.content = Array(body.utf8)
        return copy
    }

    func with(content: [UInt8]) -> TestRequest {
        var copy = self
        copy.content = content
        return copy
    }

    func with(authority: String) -> TestRequest {
        var copy = self
        copy.authority = authority
        return copy
    }

    var head: HPACKHeaders {
        var head = HPACKHeaders([
            (":method", method), (":scheme", "https"), (":authority", authority), (":path", path),
        ])
        for (name, value) in headers {
            head.add(name: name, value: value)
        }
        return head
    }
}
