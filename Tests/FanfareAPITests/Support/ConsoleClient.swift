import FanfareCore
import Foundation
import TestKit
import Testing

@testable import FanfareAPI
@testable import FanfareTools

/// A browser at the console: it keeps its cookie, and sends forms as the pages that it was shown have them.
struct ConsoleClient: Sendable {
    let api: APIWorld
    /// What it sends as its cookie; nil before the login.
    var cookie: String?

    /// Asks a page.
    ///
    /// - Parameters:
    ///   - target: path and query.
    ///   - headers: further ones.
    func page(_ target: String, _ headers: [String: String] = [:]) async throws -> Reply {
        try await ask("GET", target, nil, headers)
    }

    /// Asks a page that is there.
    ///
    /// - Parameter target: path and query.
    /// - Returns: its elements and its text; a page that is not well-formed fails the test.
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
    ///   - path: where.
    ///   - fields: by name.
    ///   - headers: further ones; those of a form on a page of the console's own unless said otherwise.
    func send(
        _ path: String,
        _ fields: [String: String],
        _ headers: [String: String] = ["Sec-Fetch-Site": "same-origin"]
    ) async throws -> Reply {
        let body = String(PageAddress("", fields).text.drop { $0 == "?" })
        let type = ["Content-Type": "application/x-www-form-urlencoded", "Content-Length": "\(body.utf8.count)"]
        return try await ask("POST", path, body, headers.merging(type) { $1 })
    }

    /// The fields that an action's question has beside what is typed, its seal among them.
    ///
    /// - Parameter target: of the question.
    func question(_ target: String) async throws -> [String: String] {
        let hidden = try await scan(target).elements.filter { $0.name == "input" && $0["type"] == "hidden" }
        return Dictionary(hidden.map { ($0["name"] ?? "", $0["value"] ?? "") }) { $1 }
    }

    /// Asks an action's question, and says yes.
    ///
    /// - Parameters:
    ///   - target: of the question.
    ///   - reason: what is typed.
    /// - Returns: a redirect, where it was done.
    func perform(_ target: String, reason: String = "as the test says") async throws -> Reply {
        let fields = try await question(target)
        let path = String(target.prefix { $0 != "?" })
        return try await send(path, fields.merging(["reason": reason]) { $1 })
    }

    /// Again where a busy machine had no session of the database in time, as who looks at the page does.
    private func ask(_ method: String, _ target: String, _ body: String?, _ headers: [String: String]) async throws
        -> Reply
    {
        var reply: Reply?
        for _ in 0..<20 where reply.map({ $0.status == 503 }) ?? true {
            reply = try await onThread("browser") { [port = api.port, cookie] in
                let wire = try Wire(port: port)
                // What is behind it is the browser's own.
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
    /// The cookie that it has the browser keep, as that sends it; nil for none.
    var cookie: String? { headers["set-cookie"].map { String($0.prefix { $0 != ";" }) } }
    /// Where it leads; nil where it does not.
    var location: String? { status == 303 ? headers["location"] : nil }
}

extension APIWorld {
    /// A browser that is logged in, with a new token of its own.
    ///
    /// - Parameter scopes: what the token may do beside reading.
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
