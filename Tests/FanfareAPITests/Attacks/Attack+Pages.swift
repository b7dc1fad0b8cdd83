import FanfareCore

extension Attack {
    /// Requests that a page makes a browser send, while two other origins are listed.
    static let pages: [Attack] = [
        Attack(
            "a page of an origin that is not listed sends a request: with a preflight, and as a POST that needs none",
            "405, 415; no CORS header"
        ) { ground in
            let page = ["Origin: https://evil.example"]
            return preflights(ground, ["https://evil.example"])
                + [Request(ground.ask("GET", "/livez", with: page), 200)]
                + ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"].map {
                    Request(
                        ground.ask(
                            "POST",
                            "/v1/apps/shop/devices/unregister",
                            token: ground.token,
                            with: page + ["Content-Type: \($0)", "Content-Length: 2"]
                        ) + "{}",
                        415
                    )
                }
        },
        Attack("`Origin: null`, which a sandboxed frame sends", "405; no CORS header") { ground in
            preflights(ground, ["null"])
        },
        Attack(
            "an origin that begins or ends like a listed one, or differs in scheme, port or case",
            "405; no CORS header"
        ) { ground in
            preflights(
                ground,
                [
                    "https://shop.example.evil.example", "https://shop.example@evil.example",
                    "https://evilshop.example",
                    "http://shop.example", "https://shop.example:444", "https://SHOP.example", "https://shop.example/",
                    "https://evil.example, https://shop.example",
                ]
            )
        },
        Attack("a page of a listed origin sends a request that only backends may send", "401, 405; no CORS header") {
            ground in
            let page = ["Origin: https://shop.example"]
            let preflight = page + ["Access-Control-Request-Method: GET"]
            return ["/v1/events", "/v1/status", "/v1/apps/shop/users/ann"].map {
                Request(ground.ask("OPTIONS", $0, with: preflight), 405)
            } + [Request(ground.ask("GET", "/v1/status", with: page), 401)]
        },
    ]

    private static func preflights(_ ground: Ground, _ origins: [String]) -> [Request] {
        origins.flatMap { origin in
            ["/v1/apps/shop/devices", "/v1/apps/shop/reports"].map {
                let asks = ["Access-Control-Request-Method: PUT", "Access-Control-Request-Headers: authorization"]
                return Request(ground.ask("OPTIONS", $0, with: ["Origin: \(origin)"] + asks), 405)
            }
        }
    }
}
