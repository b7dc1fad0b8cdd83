import FanfareCore
import Testing

/// An attack as the documentation lists it, and the responses to it.
struct Attack: Sendable, CustomTestStringConvertible {
    /// A request on one connection, and the statuses of the responses on it.
    struct Request: Sendable {
        let text: String
        let statuses: [Int]
        /// Text that the last response contains.
        let words: String

        init(_ text: String, _ statuses: Int..., saying words: String = "") {
            (self.text, self.statuses, self.words) = (text, statuses, words)
        }
    }

    /// The target of the attacks: two apps with phones, and a backend's token for each.
    struct Ground: Sendable {
        let shop: TokenForge
        let bank: TokenForge
        /// A token of the scopes `registrar` and `reader` of any app.
        let token: String
        /// The same, for `bank` only.
        let bankToken: String

        /// Returns a valid request, except for the given parts.
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

        /// Returns a request with the given phone token.
        func phone(_ header: String, _ claims: String, _ signer: TokenForge.Signer) -> String {
            ask(token: TokenForge.token(header, claims, signer))
        }
    }

    let name: String
    /// The response as the documentation has it.
    let answer: String
    /// The requests; none for an attack with a test of its own.
    let requests: @Sendable (Ground) -> [Request]

    init(_ name: String, _ answer: String, _ requests: @escaping @Sendable (Ground) -> [Request] = { _ in [] }) {
        (self.name, self.answer, self.requests) = (name, answer, requests)
    }

    var testDescription: String { name }

    /// All attacks in the order of the documentation.
    static let all = tokens + requests + pages + floods

    /// The attacks that have tests of their own.
    static let floods = [
        Attack(
            "100,000 invented tokens",
            "401; the database is asked at most once in 100 ms, however many tokens come"
        ),
        Attack(
            "100 connections that send a byte now and then (slowloris)",
            "the connections are closed at their deadline; requests on other connections are answered meanwhile"
        ),
        Attack(
            "200 requests on each permitted connection, by clients that read no response",
            "closed at their deadline, or 2 s after the daemon is told to stop; other connections are answered"
        ),
        Attack(
            "a weak key in `jwks_file`: a short secret, another curve, RSA, `use: enc`",
            "the daemon does not start; a running daemon keeps the previous keys"
        ),
        Attack(
            "an event of a type that is reserved for Fanfare (`campaign.…`, `campaign-test.…`, `digest.…`, `send.…`)",
            "422; an event that SQL inserts is refused when it is planned"
        ),
        Attack("a phone registers a user's 51st device", "200; the device that was registered longest ago is disabled"),
    ]

    /// The table of the documentation.
    static var table: String {
        let rows = all.map { "| \($0.name) | \($0.answer) |" }
        return (["| attack | answer |", "|---|---|"] + rows).joined(separator: "\n")
    }
}
