import FanfareConfiguration
import FanfareCore
import HTTPTypes
import TestKit
import Testing

@testable import APIKit
@testable import FanfareAPI
@testable import FanfareHTTP

/// Which pages may call what, as their browsers are told.
@Suite(.database) struct CrossOriginTests {
    private static let page = "https://shop.example"
    private static let devices = "/v1/apps/shop/devices"

    private func preflight(_ origin: String, _ method: String = "PUT") -> [String: String] {
        [
            "Origin": origin, "Access-Control-Request-Method": method,
            "Access-Control-Request-Headers": "authorization,content-type",
        ]
    }

    private func permissions(_ reply: Reply) -> [String: String] {
        reply.headers.filter { $0.key.hasPrefix("access-control-") || $0.key == "vary" }
    }

    private func target(_ route: Route) -> String {
        route.path.replacing("{app}", with: "shop").replacing("{user}", with: "ann").replacing(/\{\w+\}/, with: "1")
    }

    @Test func aListedPageRegistersAndReports() async throws {
        try await PhoneWorld.with { api, forge in
            let asked = try await api.ask("OPTIONS", Self.devices, nil, preflight(Self.page))
            #expect(asked.status == 204 && asked.body.isEmpty)
            #expect(
                permissions(asked) == [
                    "access-control-allow-origin": Self.page, "access-control-allow-methods": "PUT, GET",
                    "access-control-allow-headers": "authorization, content-type", "access-control-max-age": "600",
                    "access-control-expose-headers": "Retry-After", "vary": "Origin",
                ]
            )
            let allowed = [
                "access-control-allow-origin": Self.page, "access-control-expose-headers": "Retry-After",
                "vary": "Origin",
            ]
            let body = #"{"provider": "apns", "token": "\#(String(repeating: "ab", count: 32))"}"#
            let origin = ["Origin": Self.page]
            let registered = try await api.ask("PUT", Self.devices, body, token: forge.token("ann"), origin)
            #expect(registered.status == 200 && permissions(registered) == allowed)
            let key = try registered.json["report_key"]?.stringValue ?? ""
            let report = #"{"reports": [{"handle": "AAAA", "kind": "opened"}]}"#
            let path = "/v1/apps/shop/reports"
            let sent = try await api.ask(
                "POST",
                path,
                report,
                origin.merging(["Authorization": "Report \(key)"]) { $1 }
            )
            #expect(sent.status == 202 && permissions(sent) == allowed, "\(sent.body)")
            // A page must be able to read why a request was refused.
            for (token, body, status) in [(nil, body, 401), (forge.token("ann"), "{", 400)] as [(String?, String, Int)]
            {
                let refused = try await api.ask("PUT", Self.devices, body, token: token, origin)
                #expect(refused.status == status && permissions(refused) == allowed, "\(refused.body)")
            }
            let second = try await api.ask("OPTIONS", Self.devices, nil, preflight("http://localhost:3000"))
            #expect(second.headers["access-control-allow-origin"] == "http://localhost:3000")
        }
    }

    /// Covers every route, including new ones.
    @Test func pagesMayCallWhatPhonesMay() async throws {
        try await PhoneWorld.with { api, _ in
            let routes = try Routes.listed
            let open = Set(routes.filter { $0.isForPhones || $0.isForReports }.map(\.path))
            for route in routes {
                let asked = try await api.ask(
                    "OPTIONS",
                    target(route),
                    nil,
                    preflight(Self.page, route.method.rawValue)
                )
                let methods = routes.filter { $0.path == route.path && ($0.isForPhones || $0.isForReports) }
                    .map(\.method.rawValue)
                let told = asked.headers["access-control-allow-methods"]?.split(separator: ", ").map(String.init)
                #expect(asked.status == (open.contains(route.path) ? 204 : 405), "\(route.path)")
                #expect(Set(told ?? []) == Set(methods), "\(route.path)")
                // Browsers send a GET and a POST even if the list lacks them.
                guard route.scope != nil else { continue }
                let reply = try await api.ask(route.method.rawValue, target(route), "{}", ["Origin": Self.page])
                let isOpen = route.isForPhones || route.isForReports
                #expect(reply.status == 401)
                #expect(
                    reply.headers["access-control-allow-origin"] == (isOpen ? Self.page : nil),
                    "\(route.method) \(route.path)"
                )
            }
            let plain = try await api.ask("OPTIONS", Self.devices, nil, ["Origin": Self.page])
            #expect(plain.status == 405 && plain.headers["access-control-allow-origin"] == nil)
        }
    }

    @Test func otherPagesGetNothing() async throws {
        try await PhoneWorld.with { api, forge in
            for origin in [
                "https://evil.example", "null", "https://shop.example.evil.example", "https://shop.example:8443",
                "http://shop.example", "https://shop.example/", "HTTPS://SHOP.EXAMPLE", "https://shop.exampl", "",
                "https://shop.example, https://evil.example", "*",
            ] {
                let asked = try await api.ask("OPTIONS", Self.devices, nil, preflight(origin))
                #expect(asked.status == 405 && permissions(asked) == ["vary": "Origin"], "\(origin)")
                let reply = try await api.ask("GET", Self.devices, token: forge.token("ann"), ["Origin": origin])
                #expect(reply.status == 200 && permissions(reply) == ["vary": "Origin"], "\(origin)")
            }
        }
    }

    @Test func withoutOriginsThereIsNoHeaderAndAReloadAddsThem() async throws {
        try await APIWorld.with { api in
            let before = try await api.ask("OPTIONS", Self.devices, nil, preflight(Self.page))
            #expect(before.status == 405 && permissions(before).isEmpty)
            #expect(permissions(try await api.ask("GET", Self.devices, nil, ["Origin": Self.page])).isEmpty)
            api.reload { $0.api.origins = [Self.page] }
            #expect(try await api.ask("OPTIONS", Self.devices, nil, preflight(Self.page)).status == 204)
        }
    }
}
