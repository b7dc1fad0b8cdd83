import FanfareCore
import Foundation
import TestKit
import Testing

@testable import FanfareConsoleView
@testable import FanfareHTTP
@testable import FanfareTools

/// A browser session of the console: it keeps the cookie, and sends the fields of the forms it was shown.
struct ConsoleClient: Sendable {
    let api: APIWorld
    /// The cookie's value; nil before the login.
    var cookie: String?

    /// Requests a page.
    ///
    /// - Parameters:
    ///   - target: the path and query.
    ///   - headers: further headers.
    func page(_ target: String, _ headers: [String: String] = [:]) async throws -> Reply {
        try await ask("GET", target, nil, headers)
    }

    /// Requests a page and parses it.
    ///
    /// - Parameter target: the path and query.
    /// - Returns: the page's elements and text; a page that is not well-formed fails the test.
    func scan(_ target: String) async throws -> HTMLScan {
        let reply = try await page(target)
        #expect(reply.status == 200, "\(target): \(reply.status)")
        let scan = HTMLScan(reply.body)
        #expect(scan.problems.isEmpty, "\(target)")
        return scan
    }

    /// Sends a form.
    ///
    /// - Parameters:
    ///   - path: the path.
    ///   - fields: the fields by name.
    ///   - headers: headers that replace those of a form on the console's own page.
    func send(
        _ path: String,
        _ fields: [String: String],
        _ headers: [String: String] = ["Sec-Fetch-Site": "same-origin"]
    ) async throws -> Reply {
        let body = String(PageAddress("", fields).text.drop { $0 == "?" })
        let type = ["Content-Type": "application/x-www-form-urlencoded", "Content-Length": "\(body.utf8.count)"]
        return try await ask("POST", path, body, headers.merging(type) { $1 })
    }

    /// Returns the hidden fields of an action's confirmation, including its seal.
    ///
    /// - Parameter target: the address of the confirmation.
    func question(_ target: String) async throws -> [String: String] {
        let hidden = try await scan(target).elements.filter { $0.name == "input" && $0["type"] == "hidden" }
        return Dictionary(hidden.map { ($0["name"] ?? "", $0["value"] ?? "") }) { $1 }
    }

    /// Requests an action's confirmation, and sends its form.
    ///
    /// - Parameters:
    ///   - target: the address of the confirmation.
    ///   - chosen: the values of the form's other fields.
    ///   - reason: the reason to send.
    /// - Returns: the response: a redirect if the action was done.
    func perform(
        _ target: String,
        _ chosen: [String: String] = [:],
        reason: String = "as the test says"
    ) async throws -> Reply {
        let fields = try await question(target)
        let path = String(target.prefix { $0 != "?" })
        return try await send(path, fields.merging(chosen) { $1 }.merging(["reason": reason]) { $1 })
    }

    /// Repeats a request, as a viewer does, if a busy machine had no database session in time.
    private func ask(_ method: String, _ target: String, _ body: String?, _ headers: [String: String]) async throws
        -> Reply
    {
        var reply: Reply?
        for _ in 0..<20 where reply.map({ $0.status == 503 }) ?? true {
            reply = try await onThread("browser") { [port = api.port, cookie] in
                let wire = try Wire(port: port)
                // Browsers do not send the fragment.
                var head =
                    "\(method) \(target.prefix { $0 != "#" }) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: close\r\n"
                if let cookie { head += "Cookie: other=1; \(cookie)\r\n" }
                for (name, value) in headers { head += "\(name): \(value)\r\n" }
                wire.send("\(head)\r\n\(body ?? "")")
                return try wire.reply()
            }
        }
        return try #require(reply)
    }
}

extension Reply {
    /// The cookie that the response sets, as a browser sends it; nil for none.
    var cookie: String? { headers["set-cookie"].map { String($0.prefix { $0 != ";" }) } }
    /// The target of a redirect; nil for another response.
    var location: String? { status == 303 ? headers["location"] : nil }
}

extension APIWorld {
    /// Creates a session that is logged in with a new token.
    ///
    /// - Parameter scopes: the token's scopes beside `reader`.
    func console(_ scopes: TokenScope...) async throws -> ConsoleClient {
        var request = APITokenRequest(name: "test", scopes: [.reader] + scopes)
        request.rate = 1_000_000
        let database = try ToolDatabase(APIWorld.configuration(), environment: [:])
        let token = try await database.whileOpen { [request] database throws(ToolError) in
            try await database.createToken(request).text
        }
        var client = ConsoleClient(api: self, cookie: nil)
        let reply = try await client.send("/login", ["token": token])
        let cookie = try #require(reply.cookie)
        client.cookie = cookie
        #expect(reply.location == "/")
        return client
    }
}
