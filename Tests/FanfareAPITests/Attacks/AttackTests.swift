import FanfareCore
import FanfareService
import Foundation
import NIOCore
import PostgresClient
import TestKit
import Testing
import Threading

@testable import APIKit
@testable import FanfareHTTP
@testable import FanfareTools

/// Sends each attack of the documentation over a socket, and checks the responses.
@Suite(.database, .timeLimit(.minutes(5))) struct AttackTests {
    @Test(arguments: Attack.all.filter { !$0.isAFlood })
    func nothingGetsThrough(attack: Attack) async throws {
        let world = try PhoneWorld()
        try await APIWorld.with(world.configuration()) { api in
            let ground = Attack.Ground(
                shop: world.shop,
                bank: world.bank,
                token: try await api.token(.registrar, .reader),
                bankToken: try await api.token(.registrar, .reader, app: "bank")
            )
            let port = api.port
            for request in attack.requests(ground) {
                let answer = try await onThread("attack") {
                    let wire = try Wire(port: port)
                    return wire.readAll(sending: request.text)
                }
                let shown = request.text.prefix(300).debugDescription
                #expect(answer.statuses == request.statuses, "\(shown)\n\(answer.prefix(600))")
                #expect(request.words.isEmpty || answer.contains(request.words), "\(shown)\n\(answer.prefix(600))")
                let heads = answer.lowercased()
                let secret = String(ground.token.split(separator: "_")[2])
                for word in ["access-control-", "\r\nx-evil", "\r\nserver:", secret] {
                    #expect(!heads.contains(word), "\(shown)")
                }
            }
            // No attack has changed anything.
            for table in ["devices", "subscriptions", "preferences", "outbox", "actions"] {
                #expect(try await api.rows("SELECT count(*) FROM fanfare.\(table)") == [["0"]], "\(table)")
            }
            #expect(try await api.ask("GET", "/v1/status", token: ground.token).status == 200)
        }
    }

    @Test func theDocumentationTellsOfEachAttack() throws {
        let text = try APIArticle.text()
        let begin = try #require(text.range(of: "<!-- refused: begin -->\n"))
        let end = try #require(text.range(of: "<!-- refused: end -->"))
        if ProcessInfo.processInfo.environment["FANFARE_UPDATE_DOCS"] == "1" {
            try APIArticle.write(text[..<begin.upperBound] + Attack.table + "\n" + text[end.lowerBound...])
            return
        }
        #expect(text[begin.upperBound..<end.lowerBound] == Attack.table + "\n", "FANFARE_UPDATE_DOCS=1 writes it")
    }

    /// Sends the head, or the body after a complete head, byte by byte.
    @Test(arguments: [false, true])
    func whoDripsIsClosedAndOthersAreAnswered(hasHead: Bool) async throws {
        var times = ListenerTimes()
        (times.head, times.body) = (.seconds(2), .seconds(2))
        let world = try PhoneWorld()
        try await APIWorld.with(world.configuration(), times: times) { api in
            let token = try await api.token(.emitter)
            let head = "POST /v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(token)\r\n"
            let rest = "Content-Type: application/json\r\nContent-Length: 1000000\r\n\r\n["
            let port = api.port
            let isOver = Locked(false)
            async let dripping: Void = onThread("dripping") {
                defer { isOver.withLock { $0 = true } }
                let wires = try (0..<100).map { _ in try Wire(port: port) }
                for wire in wires { wire.send(hasHead ? head + rest : head + "X: ") }
                // Until the server has closed every connection.
                while !wires.allSatisfy({ $0.hasEnded(within: 10) }) {
                    for wire in wires { wire.send("a") }
                }
            }
            var answered = 0
            while !isOver.withLock({ $0 }) {
                // If the machine stalls for two seconds, these requests exceed the deadline too.
                if let reply = try? await api.ask("GET", "/livez"), reply.status == 200 { answered += 1 }
            }
            try await dripping
            #expect(answered > 0)
            #expect(try await api.ask("GET", "/livez").status == 200)
        }
    }

    /// Requests more than any socket buffers, and reads none of it.
    private static func overfill(_ port: Int) throws -> Wire {
        let wire = try Wire(port: port, room: 4096)
        wire.send(String(repeating: "GET /v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n", count: 200))
        return wire
    }

    @Test func whoDoesNotReadIsClosedAndOthersAreAnswered() async throws {
        var times = ListenerTimes()
        times.answer = .seconds(1)
        try await APIWorld.with(APIWorld.configuration("  connections: 3"), times: times) { api in
            let port = api.port
            // More connections than the limit; some may be beyond it.
            let wires = try await onThread { try (0..<16).map { _ in try Self.overfill(port) } }
            // A request is accepted only after those connections were closed. If the machine stalls for a second, it exceeds
            // the deadline too.
            var answered = false
            for _ in 0..<10 where !answered { answered = (try? await api.ask("GET", "/livez"))?.status == 200 }
            #expect(answered)
            withExtendedLifetime(wires) {}
        }
    }

    /// Covers the deadline of a client that stops reading, and the deadline of all open connections.
    @Test(arguments: [false, true])
    func whoDoesNotReadHoldsUpNoStop(isForAll: Bool) async throws {
        var times = ListenerTimes()
        times.answer = .hours(1)
        (times.farewell, times.drain) = isForAll ? (.hours(1), .seconds(1)) : (.seconds(1), .hours(1))
        try await APIWorld.with(times: times) { api in
            let port = api.port
            let wire = try await onThread {
                let wire = try Self.overfill(port)
                _ = try wire.read(until: "HTTP/1.1 200 OK")
                return wire
            }
            try await api.stop()
            withExtendedLifetime(wire) {}
        }
    }

    /// Uses the token cache instead of sockets, so that it takes seconds.
    @Test func tokensThatNobodyMadeCostNextToNothing() async throws {
        try await APIWorld.with { api in
            let good = try await api.token(.reader)
            let id = try #require(Int32(good.split(separator: "_")[1]))
            let database = try ToolDatabase(APIWorld.configuration(), environment: [:])
            let tokens = KnownTokens(database, rate: 1000)
            let right = try #require(APIToken(parsing: good))
            let began = ContinuousClock.now
            try await withThrowingTaskGroup(of: Int.self) { group in
                for worker in 0..<100 {
                    group.addTask {
                        var taken = 0
                        for number in 0..<1000 {
                            // Most have the id of an existing token; some have a made-up id, for which the database
                            // might be queried.
                            let isKnown = number % 50 != 0
                            let secret = String(format: "%032x%032x", worker, number)
                            let token = APIToken(
                                id: isKnown ? id : Int32(1000 + worker * 1000 + number),
                                secret: secret
                            )
                            if try await tokens.find(token) != nil { taken += 1 }
                        }
                        return taken
                    }
                }
                group.addTask {
                    for _ in 0..<100 where try await tokens.find(right) == nil { return 1 }
                    return 0
                }
                for try await taken in group { #expect(taken == 0) }
            }
            let passed = ContinuousClock.now - began
            let reads = await tokens.reads
            #expect(reads <= Int(passed / KnownTokens.ageForUnknown) + 2, "\(reads) in \(passed)")
            #expect(await tokens.remembered <= 3)
            #expect(try await tokens.find(right) != nil)
            await database.close()
        }
    }
}

extension Attack {
    /// Whether the attack has a test of its own.
    fileprivate var isAFlood: Bool { Attack.floods.contains { $0.name == name } }
}

extension String {
    /// The status of each response on a connection.
    fileprivate var statuses: [Int] {
        matches(of: /HTTP\/1\.1 (\d{3}) [^\r]*\r\n/).compactMap { Int($0.1) }
    }
}
