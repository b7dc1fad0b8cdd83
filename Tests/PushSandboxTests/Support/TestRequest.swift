import NIOHPACK

/// A push request that can be bent in every way.
struct TestRequest {
    static let token = "0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9"
    static let payload = #"{"aps":{"alert":{"title":"Order 7","body":"Shipped"},"badge":1},"order":7}"#

    var method = "POST"
    var path: String
    var headers: [(String, String)]
    var body = TestRequest.payload

    init(token: String = TestRequest.token, id: String? = nil, authorization: String?) {
        path = "/3/device/\(token)"
        headers = [("apns-topic", "com.example.demo"), ("apns-push-type", "alert"), ("apns-priority", "10")]
        if let id { headers.append(("apns-id", id)) }
        if let authorization { headers.append(("authorization", authorization)) }
    }

    /// The same with one header set, replaced, or removed by nil.
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
        copy.body = body
        return copy
    }

    var head: HPACKHeaders {
        var head = HPACKHeaders([
            (":method", method), (":scheme", "https"), (":authority", "localhost"), (":path", path),
        ])
        for (name, value) in headers {
            head.add(name: name, value: value)
        }
        return head
    }
}
