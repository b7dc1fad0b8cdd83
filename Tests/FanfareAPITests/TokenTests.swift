import FanfareCore
import FanfareRecords
import Foundation
import PostgresClient
import TestKit
import Testing

@testable import APIKit
@testable import FanfareTools
@testable import fanfare

@Suite(.database) struct TokenTests {
    private func database() throws -> ToolDatabase {
        try ToolDatabase(APIWorld.configuration(), environment: [:])
    }

    @Test func aTokenAllowsItsScopesOnly() async throws {
        try await APIWorld.with { api in
            let emitter = try await api.token(.emitter)
            #expect(try await api.ask("POST", "/v1/events", #"{"type": "t"}"#, token: emitter).status == 202)
            let not = try await api.ask("GET", "/v1/status", token: emitter)
            #expect(not.status == 403)
            #expect(try not.json["code"] == "forbidden")
            #expect(try not.json["hint"]?.stringValue?.contains("reader") == true)
        }
    }

    @Test func whatIsNoTokenIsRefused() async throws {
        try await APIWorld.with { api in
            let good = try await api.token(.reader)
            let parts = good.split(separator: "_")
            // With a valid checksum: another secret, another id.
            let other = APIToken(id: 1, secret: String(repeating: "0", count: 64)).text
            let nobody = APIToken(id: 77, secret: String(parts[2])).text
            for token in ["x", "ff_1_x_y", String(good.dropLast()), good + "0", good.uppercased(), other, nobody, ""] {
                let reply = try await api.ask("GET", "/v1/status", token: token)
                #expect(reply.status == 401, "\(token)")
                #expect(reply.headers["www-authenticate"]?.hasPrefix("Bearer") == true)
                #expect(!reply.body.contains(parts[2]))
            }
            #expect(try await api.ask("GET", "/v1/status").status == 401)
            #expect(try await api.ask("GET", "/v1/status", token: good).status == 200)
        }
    }

    @Test func aTokenForOneAppTouchesNoOther() async throws {
        try await APIWorld.with { api in
            let shop = try await api.token(.registrar, .reader, app: "shop")
            let device = #"{"provider": "apns", "token": "\#(String(repeating: "ab", count: 32))"}"#
            #expect(try await api.ask("PUT", "/v1/apps/shop/devices", device, token: shop).status == 200)
            #expect(try await api.ask("PUT", "/v1/apps/bank/devices", device, token: shop).status == 403)
            #expect(try await api.ask("GET", "/v1/status", token: shop).status == 403)
            let all = try await api.token(.registrar)
            let other = try await api.ask(
                "PUT",
                "/v1/apps/bank/devices",
                device.replacing("ab", with: "cd"),
                token: all
            )
            let id = try other.json["id"]?.stringValue ?? ""
            let stolen = try await api.ask("PUT", "/v1/apps/shop/devices/\(id)/topics/t", "{}", token: shop)
            #expect(stolen.status == 404)
        }
        let request = {
            var request = APITokenRequest(name: "x", scopes: [.emitter])
            request.app = "shop"
            return request
        }()
        let database = try database()
        await #expect(throws: ToolError.self) { try await database.createToken(request) }
        await database.close()
    }

    @Test func aTokenThatIsRevokedIsRefusedWithinASecond() async throws {
        try await APIWorld.with { api in
            let token = try await api.token(.reader)
            #expect(try await api.ask("GET", "/v1/status", token: token).status == 200)
            let database = try database()
            let id = try await database.tokens(onlyValid: true)[0].id
            #expect(try await database.revokeToken(id))
            #expect(try await !database.revokeToken(id))
            await #expect(throws: ToolError.self) { try await database.revokeToken(99) }
            let deadline = ContinuousClock.now + .seconds(30)
            var status = 200
            while status == 200, ContinuousClock.now < deadline {
                status = try await api.ask("GET", "/v1/status", token: token).status
            }
            #expect(status == 401)
            #expect(try await database.tokens(onlyValid: true).isEmpty)
            let row = try #require(try await database.tokens(onlyValid: false).first)
            #expect(row.usedAt != nil || row.revokedAt != nil)
            await database.close()
        }
    }

    @Test func aTokenHasItsLimit() async throws {
        try await APIWorld.with { api in
            let token = try await api.token(.reader, rate: 2)
            var statuses: [Int] = []
            var last: Reply?
            // More requests than a minute allows: the limit is reached however slow the machine is.
            for _ in 0..<200 where last?.status != 429 {
                last = try await api.ask("GET", "/v1/events/1", token: token)
                statuses.append(last?.status ?? 0)
            }
            #expect(statuses.first == 404 && last?.status == 429)
            #expect(last?.headers["retry-after"] == "1")
        }
    }

    @Test func aTokenThatIsOverIsRefused() async throws {
        try await APIWorld.with { api in
            let token = try await api.token(.reader)
            try await onThread { [database = TestDatabase.current] in
                let connection = try database.connect()
                try connection.execute("UPDATE fanfare.api_tokens SET expires_at = now() - interval '1 second'")
            }
            #expect(try await api.ask("GET", "/v1/status", token: token).status == 401)
        }
    }

    @Test func nothingShowsASecret() async throws {
        let database = try database()
        let token = try await database.createToken(APITokenRequest(name: "phone", scopes: [.reader]))
        let secret = token.text.split(separator: "_")[2]
        let rows = try await database.tokens(onlyValid: false)
        for shown in ["\(token)", String(reflecting: token), APITokenRow.table(rows), rows[0].json.text] {
            #expect(!shown.contains(secret))
        }
        #expect(APITokenRow.table(rows).contains("never"))
        await database.close()
    }
}

@Suite(.database) struct ActionTests {
    @Test func everyChangeIsNotedInItsTransaction() async throws {
        try await APIWorld.with { api in
            let token = try await api.token(.emitter, .registrar)
            let two = #"{"events": [{"type": "a"}, {"type": "b"}]}"#
            let emitted = try await api.ask("POST", "/v1/events/batch", two, token: token)
            let ids = try emitted.json["ids"]?.arrayValue?.compactMap(\.stringValue) ?? []
            let device = #"{"provider": "apns", "token": "\#(String(repeating: "ab", count: 32))", "user_id": "u"}"#
            let registered = try await api.ask("PUT", "/v1/apps/shop/devices", device, token: token)
            let id = try registered.json["id"]?.stringValue ?? ""
            // Rejected: nothing was changed, and nothing is recorded.
            let wrong = device.replacing("ab", with: "x")
            let refused = try await api.ask("PUT", "/v1/apps/shop/devices", wrong, token: token)
            #expect(refused.status == 422)
            _ = try await api.ask("DELETE", "/v1/apps/shop/users/u", token: token)
            let noted = try await api.rows(
                "SELECT actor, action, target, count, request_id FROM fanfare.actions ORDER BY id"
            )
            #expect(
                noted.map { Array($0.prefix(4)) } == [
                    ["test", "event.emit", ids.first, "2"], ["test", "device.register", "shop/\(id)", nil],
                    ["test", "user.forget", "shop", "1"],
                ]
            )
            #expect(noted.first?[4] == emitted.headers["x-request-id"])
        }
    }
}
