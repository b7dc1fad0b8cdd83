import FanfareCore

extension Attack {
    private static let inner = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"

    /// Malformed and malicious requests.
    static let requests: [Attack] = [
        Attack("two `Content-Length`, or one beside `Transfer-Encoding` (smuggling)", "400, and the connection ends") {
            _ in
            let head = "POST /v1/events HTTP/1.1\r\nHost: localhost\r\n"
            let chunks = "0\r\n\r\n\(inner)"
            return [
                "Content-Length: 0\r\nContent-Length: \(inner.utf8.count)\r\n\r\n\(inner)",
                "Content-Length: 0, \(inner.utf8.count)\r\n\r\n\(inner)", "Content-Length: +0\r\n\r\n\(inner)",
                "Content-Length: \(chunks.utf8.count)\r\nTransfer-Encoding: chunked\r\n\r\n\(chunks)",
                "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n\(chunks)",
                "Transfer-Encoding: chunked, identity\r\n\r\n\(chunks)",
                "Transfer-Encoding: xchunked\r\n\r\n\(chunks)", "Transfer-Encoding : chunked\r\n\r\n\(chunks)",
                "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n\(chunks)",
                "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n\(chunks)",
                "Transfer-Encoding: gzip, chunked\r\n\r\n\(chunks)",
            ].map { Request(head + $0, 400) }
                // The token is checked before the body is read; without a valid one the rest of the body is not read.
                + [Request(head + "Transfer-Encoding: chunked\r\n\r\nx\r\n\(chunks)", 401, 400)]
        },
        Attack("a request inside the body of a refused request", "the body is not read as a request") { ground in
            let outer = "POST /v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(inner.utf8.count)\r\n\r\n"
            return [Request(outer + inner + ground.ask("GET", "/v1/nothing"), 401, 404)]
        },
        Attack("CR, LF or NUL in a header, a space before its colon, a folded line", "400") { _ in
            ["X: a\rb", "X: a\0b", "X : a", "X: a\r\n b", "X", ": a", "X(): a", "X\u{0}: a"].map {
                Request("GET /livez HTTP/1.1\r\nHost: localhost\r\n\($0)\r\n\r\n", 400)
            }
        },
        Attack("CR LF in a path or a query, encoded or not", "404, 400; no header of the response repeats it") {
            ground in
            [
                Request(ground.ask("GET", "/v1/%0d%0aX-Evil:%201"), 404, saying: "absent"),
                Request(ground.ask("GET", "/v1/status?x=%0d%0aX-Evil:%201"), 401),
                Request("GET /v1/a\rb HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
                Request("GET /v1/a b HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
            ]
        },
        Attack("`%2F`, `..`, `//` and an encoded NUL in a path to another app", "403, 404") { ground in
            [
                ("/v1/apps/bank%2F..%2Fshop/devices", 403), ("/v1/apps/bank/../shop/devices", 404),
                ("/v1/apps/bank%2Fdevices", 403), ("//v1/apps/shop/devices", 404), ("/v1//apps/shop/devices", 404),
                ("/v1/apps/%2e%2e/devices", 403), ("/v1/apps/bank/devices/../../shop/devices", 404),
                ("/v1/apps/bank%00/devices", 404), ("/v1/apps/%ff/devices", 404), ("/v1/apps/BANK/devices", 403),
                ("/v1/apps/bank%20/devices", 403),
            ].map { Request(ground.ask("GET", $0.0, token: ground.bankToken), $0.1) }
        },
        Attack("a path or a header of 100,000 bytes, 1,000 headers", "400, and the connection ends") { _ in
            let long = String(repeating: "a", count: 100_000)
            let many = (0..<1000).map { "X\($0): a\r\n" }.joined()
            return [
                "GET /\(long) HTTP/1.1\r\nHost: localhost\r\n\r\n",
                "GET /livez HTTP/1.1\r\nHost: localhost\r\nX: \(long)\r\n\r\n",
                "GET /livez HTTP/1.1\r\nHost: localhost\r\n\(many)\r\n",
            ].map { Request($0, 400) }
        },
        Attack("a body of 10 MB, by length or in chunks", "413, before it is read") { ground in
            let head = ["Authorization: Bearer \(ground.token)", "Content-Type: application/json"]
            let chunk = "10000\r\n\(String(repeating: " ", count: 65_536))\r\n"
            return [
                // The body is announced and never sent.
                Request(ground.ask("PUT", with: head + ["Content-Length: 10485760"]), 413),
                Request(
                    ground.ask("PUT", with: head + ["Transfer-Encoding: chunked"])
                        + String(repeating: chunk, count: 17),
                    413
                ),
            ]
        },
        Attack("JSON that is 100,000 levels deep, has a key twice, or is not JSON", "400") { ground in
            [
                String(repeating: "[", count: 100_000), String(repeating: #"{"a":"#, count: 100_000),
                #"{"provider": "fcm", "provider": "apns"}"#, "{",
            ].map { Request(ground.ask("PUT", token: ground.token, body: $0), 400) }
        },
        Attack("SQL in a filter, a name, a body", "an empty result, or 422") { ground in
            let device = #"{"provider": "apns", "token": "'); DROP TABLE fanfare.devices; --"}"#
            return [
                Request(
                    ground.ask("GET", "/v1/apps/shop/devices?user_id='%20OR%20true%20--", token: ground.token),
                    200,
                    saying: #""data":[]"#
                ),
                Request(
                    ground.ask("GET", "/v1/apps/'%20OR%20true%20--/devices", token: ground.token),
                    200,
                    saying: #""data":[]"#
                ),
                Request(ground.ask("PUT", token: ground.token, body: device), 422),
            ]
        },
        Attack("an invented cursor", "400") { ground in
            ["1", "1.AAAA", "1.AAAAAAAAAAAAAAAAAAAAAA", "9223372036854775808.AA", "..", "1.1.AA"].map {
                Request(ground.ask("GET", "/v1/apps/shop/devices?after=\($0)", token: ground.token), 400)
            }
        },
        Attack("another host's name on loopback (DNS rebinding)", "421") { ground in
            ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "[::2]", "0x7f.1"].map {
                Request("GET /livez HTTP/1.1\r\nHost: \($0)\r\nConnection: close\r\n\r\n", 421)
            }
        },
        Attack("HTTP/2 without TLS, CONNECT, TRACE, a TLS handshake", "400, 404, 405") { ground in
            [
                Request("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
                Request(ground.ask("TRACE", "/livez"), 405), Request(ground.ask("CONNECT", "evil.example:443"), 404),
                Request("\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}", 400),
            ]
        },
    ]
}
