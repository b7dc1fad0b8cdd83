import FanfareCore
import TestKit
import Testing

@testable import APIKit

/// Registrations that say what the phone's user allows.
@Suite(.database) struct PermissionRouteTests {
    private static let path = "/v1/apps/shop/devices"

    private func device(_ more: String) -> String {
        #"{"provider": "apns", "token": "\#(String(repeating: "ab", count: 32))"\#(more)}"#
    }

    /// What is refused, and where.
    private static let refusals = [
        (#", "permission": "yes""#, "/permission", "authorized, provisional or denied"),
        (#", "permission": 7"#, "/permission", ""), (#", "permission": "unknown""#, "/permission", "provisional"),
        (#", "presents": ["alert", "banner"]"#, "/presents/1", "alert, badge or sound"),
        (#", "presents": [true]"#, "/presents/0", ""), (#", "presents": "alert""#, "/presents", ""),
        (#", "permitted": "denied""#, "/permitted", ""),
    ]

    private func check(_ api: APIWorld, _ token: String) async throws {
        func register(_ more: String) async throws -> JSONValue {
            let answer = try await api.ask("PUT", Self.path, device(more), token: token)
            let id = try answer.json["id"]?.stringValue ?? ""
            return try await api.ask("GET", "\(Self.path)/\(id)", token: token).json
        }
        let unsaid = try await register("")
        #expect(unsaid["permission"] == .null && unsaid["presents"] == .null)
        let said = try await register(#", "permission": "authorized", "presents": ["badge", "alert"]"#)
        #expect(said["permission"] == "authorized" && said["presents"] == ["alert", "badge"], "\(said.text)")
        let kept = try await register(#", "permission": null, "presents": null"#)
        #expect(kept["permission"] == "authorized" && kept["presents"] == ["alert", "badge"])
        let none = try await register(#", "permission": "denied", "presents": []"#)
        #expect(none["permission"] == "denied" && none["presents"] == [])
        let listed = try await api.ask("GET", Self.path, token: token).json["data"]?.arrayValue ?? []
        #expect(listed.map { $0["permission"] } == ["denied"])
        for (more, pointer, hint) in Self.refusals {
            let refused = try await api.ask("PUT", Self.path, device(more), token: token)
            let problem = try refused.json
            #expect(refused.status == 422 && problem["pointer"]?.stringValue == pointer, "\(problem.text)")
            #expect(hint.isEmpty || problem["hint"]?.stringValue?.contains(hint) == true, "\(problem.text)")
        }
        #expect(try await register("")["permission"] == "denied")
    }

    @Test func aBackendSaysIt() async throws {
        try await APIWorld.with { api in try await check(api, try await api.token(.registrar, .reader)) }
    }

    @Test func aPhoneSaysIt() async throws {
        try await PhoneWorld.with { api, forge in try await check(api, forge.token("ann")) }
    }
}
