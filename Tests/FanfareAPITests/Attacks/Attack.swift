import FanfareCore
import Testing

@testable import FanfareAPI

/// What somebody tries, as the documentation tells it, and what he is answered.
struct Attack: Sendable, CustomTestStringConvertible {
    /// What is sent on one connection, and the statuses that come back on it.
    struct Request: Sendable {
        let text: String
        let statuses: [Int]
        /// What the last answer has in it.
        let words: String

        init(_ text: String, _ statuses: Int..., saying words: String = "") {
            (self.text, self.statuses, self.words) = (text, statuses, words)
        }
    }

    /// Whom it is tried on: two apps with phones, and a backend's token for each.
    struct Ground: Sendable {
        let shop: TokenForge
        let bank: TokenForge
        /// Of the scopes `registrar` and `reader`.
        let token: String
        /// The same, for `bank` alone.
        let bankToken: String

        /// A request as it should be, but for what it says.
        func ask(
            _ method: String = "GET",
            _ target: String = "/v1/apps/shop/devices",
            token: String? = nil,
            with headers: [String] = [],
            body: String? = nil
        ) -> String {
            var lines = ["\(method) \(target) HTTP/1.1", "Host: localhost", "Connection: close"]
            if let token { lines.append("Authorization: Bearer \(token)") }
            lines += headers
            if let body { lines += ["Content-Type: application/json", "Content-Length: \(body.utf8.count)"] }
            return lines.joined(separator: "\r\n") + "\r\n\r\n" + (body ?? "")
        }

        /// One that differs in its token.
        func phone(_ header: String, _ claims: String, _ signer: TokenForge.Signer) -> String {
            ask(token: TokenForge.token(header, claims, signer))
        }
    }

    let name: String
    /// As the documentation has it.
    let answer: String
    /// None where a test of its own tries it.
    let requests: @Sendable (Ground) -> [Request]

    init(_ name: String, _ answer: String, _ requests: @escaping @Sendable (Ground) -> [Request] = { _ in [] }) {
        (self.name, self.answer, self.requests) = (name, answer, requests)
    }

    var testDescription: String { name }

    /// In the order of the documentation.
    static let all = tokens + requests + floods

    /// Tried by tests of their own.
    static let floods = [
        Attack("100,000 tokens that nobody made", "401; the database is asked at most every 100 ms, whatever comes"),
        Attack(
            "100 connections, a byte now and then (slowloris)",
            "closed at their deadline; others are answered meanwhile"
        ),
        Attack(
            "200 requests on each connection there may be, whose answers nobody reads",
            "closed at their deadline, and others are answered; a daemon that stops waits 2 s for them"
        ),
        Attack(
            "a weak key in `jwks_file`: a short secret, another curve, RSA, `use: enc`",
            "the daemon does not start; later, the keys before stay"
        ),
        Attack(
            "an event of a type that is Fanfare's own (`campaign.…`, `campaign-test.…`, `digest.…`)",
            "422; inserted in SQL, it is refused when it is planned"
        ),
        Attack("a phone registers a user's 51st device", "200; the one that was registered longest ago is disabled"),
    ]

    /// As a table of the documentation.
    static var table: String {
        let rows = all.map { "| \($0.name) | \($0.answer) |" }
        return (["| attack | answer |", "|---|---|"] + rows).joined(separator: "\n")
    }
}
