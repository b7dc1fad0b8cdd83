import FanfareCore
import TestKit
import Testing
import Threading

@testable import APIKit
@testable import FanfareTools

/// Tests of authorization against the served OpenAPI document.
///
/// A token of each scope, for all apps and for one, requests each operation on its own app and on another, often enough
/// that the database uses generic plans.
@Suite(.database, .timeLimit(.minutes(10))) struct ScopeMatrixTests {
    private static let times = Soak.isOn ? 30 : 6

    @Test(arguments: TokenScope.allCases.map(\.self) as [TokenScope?] + [nil])
    func theDocumentSaysWhoMayDoWhat(scope: TokenScope?) async throws {
        try await PhoneWorld.with { api, _ in
            let operations = try Operation.all(in: try await api.ask("GET", "/v1/openapi.json").json)
            #expect(operations.count >= 43)
            let ground = try await Ground(api, times: 2 * Self.times)
            guard let scope else {
                for operation in operations { try await ask(operation, nil, of: nil, on: ground, api) }
                return
            }
            let token = try await api.token(scope)
            for operation in operations { try await ask(operation, (scope, token), of: nil, on: ground, api) }
            // Events belong to no app.
            guard scope != .emitter else { return }
            let ofShop = try await api.token(scope, app: "shop")
            for operation in operations { try await ask(operation, (scope, ofShop), of: "shop", on: ground, api) }
        }
    }

    private func ask(
        _ operation: Operation,
        _ caller: (scope: TokenScope, token: String)?,
        of own: String?,
        on ground: Ground,
        _ api: APIWorld
    ) async throws {
        for app in operation.path.contains("{app}") ? ["shop", "bank"] : [nil] {
            let isForbidden = caller?.scope.rawValue != operation.scope || own != nil && app != own
            let expected: Set<Int> =
                operation.scope == nil && !operation.isForDevices
                ? operation.successes : caller == nil ? [401] : isForbidden ? [403] : operation.successes
            for number in 0..<Self.times {
                let (target, body) = ground.request(operation, app ?? "")
                let reply =
                    operation.path == "/v1/tail"
                    ? try await head(of: target, caller?.token, api)
                    : try await api.ask(operation.method, target, body, token: caller?.token)
                let shown =
                    "\(operation.method) \(target), \(own ?? "all apps"), time \(number): \(reply.status) \(reply.body)"
                #expect(expected.contains(reply.status), "\(shown)")
            }
        }
    }

    /// Returns the head of a response that may not end.
    private func head(of target: String, _ token: String?, _ api: APIWorld) async throws -> Reply {
        try await onThread("client") { [port = api.port] in
            let wire = try Wire(port: port)
            let line = token.map { "Authorization: Bearer \($0)\r\n" } ?? ""
            wire.send("GET \(target) HTTP/1.1\r\nHost: localhost\r\n\(line)\r\n")
            return try wire.reply()
        }
    }
}

/// An operation of the document.
private struct Operation: Sendable {
    let method: String
    let path: String
    /// The scope that it needs; nil for none.
    let scope: String?
    /// Whether it is for devices only, which have no tokens of Fanfare's own.
    let isForDevices: Bool
    let successes: Set<Int>
    /// The example body of the document, if it has one.
    let example: String?

    static func all(in document: JSONValue) throws -> [Operation] {
        (document["paths"]?.objectValue?.members ?? []).flatMap { path in
            (path.value.objectValue?.members ?? []).map { method in
                let statuses = (method.value["responses"]?.objectValue?.members ?? []).compactMap { Int($0.key) }
                return Operation(
                    method: method.key.uppercased(),
                    path: path.key,
                    scope: method.value["x-scope"]?.stringValue,
                    isForDevices: method.value["security"]?.arrayValue?.contains { $0["report"] != nil } == true,
                    successes: Set(statuses.filter { (200..<300).contains($0) }),
                    example: method.value["requestBody"]?["content"]?["application/json"]?["example"]?.text
                )
            }
        }
    }
}

/// Devices, an event, rules and campaigns of two apps, so that each operation has something to act on.
private final class Ground: Sendable {
    private let event: String
    private let devices: [String: [String]]
    /// The devices to delete, by app.
    private let doomed: Locked<[String: [String]]>
    /// The ids of events that are scheduled, to cancel all but the first.
    private let scheduled: Locked<[String]>
    /// The ids of messages that are scheduled, by app, to cancel all but the first.
    private let messages: Locked<[String: [String]]>
    /// The number of campaigns started by app: a running campaign is not started again.
    private let started = Locked<[String: Int]>([:])

    init(_ api: APIWorld, times: Int) async throws {
        let rule =
            #""event": "order.shipped", "to": {"users": "$.user_id"}, "message": {"notification": {"title": "T"}}"#
        let campaign = #""to": {"everyone": true}, "message": {"data": {"a": "b"}}"#
        for app in ["shop", "bank"] {
            _ = try await api.rows(
                """
                SELECT fanfare.register_device('\(app)', 'fcm', '\(app)' || g, 'u-7'),
                    fanfare.register_device('\(app)', 'fcm', 'leaver' || g, 'leaver') FROM generate_series(1, 200) AS g
                """
            )
            _ = try await api.rows(#"SELECT fanfare.put_rule('{"app": "\#(app)", "name": "r", \#(rule)}')"#)
            _ = try await api.rows(
                #"""
                SELECT fanfare.put_campaign(jsonb_build_object('name', 'sale' || g) || '{"app": "\#(app)", \#(campaign)}')
                FROM generate_series(0, \#(times)) AS g
                """#
            )
        }
        _ = try await api.rows("SELECT fanfare.take_campaign(id, version, NULL, now()) FROM fanfare.campaigns")
        _ = try await api.rows(
            "SELECT fanfare.start_campaign('shop', 'sale0'), fanfare.start_campaign('bank', 'sale0')"
        )
        event =
            try await api.rows(
                """
                INSERT INTO fanfare.event_log (day, fate, id, type, created_at, planned_at, payload)
                SELECT fanfare.ring_day(id), 3, id, 'order.shipped', now(), now(), '{"user_id": "u-7"}' FROM fanfare.new_event_id() AS id
                RETURNING id::text
                """
            ).first?.first.flatMap(\.self) ?? ""
        var devices: [String: [String]] = [:]
        let found =
            "SELECT a.name, d.id::text FROM fanfare.devices AS d JOIN fanfare.apps AS a ON a.id = d.app_id WHERE user_id = 'u-7' ORDER BY d.id"
        for row in try await api.rows(found) { devices[row[0] ?? "", default: []].append(row[1] ?? "") }
        self.devices = devices
        doomed = Locked(devices.mapValues { Array($0.dropFirst()) })
        let ids = try await api.rows(
            "SELECT fanfare.emit_at('t', now() + interval '1 d')::text FROM generate_series(0, \(times))"
        )
        scheduled = Locked(ids.compactMap { $0[0] })
        var messages: [String: [String]] = [:]
        for app in ["shop", "bank"] {
            messages[app] = try await api.rows(
                """
                SELECT fanfare.send('{"app": "\(app)", "to": {"users": "a"}, "message": {"data": {"a": "b"}}, "at": "1d"}')::text
                FROM generate_series(0, \(times))
                """
            ).compactMap { $0[0] }
        }
        self.messages = Locked(messages)
    }

    /// - Returns: the target and the body of a request for an operation on an app.
    func request(_ operation: Operation, _ app: String) -> (target: String, body: String?) {
        var device = devices[app]?.first ?? "0"
        if operation.method == "DELETE", operation.path.hasSuffix("/devices/{id}") {
            device = doomed.withLock { $0[app]?.popLast() } ?? device
        }
        var campaign = "sale0"
        if operation.path.hasSuffix("/start") {
            let number = started.withLock { numbers in
                numbers[app, default: 0] += 1
                return numbers[app] ?? 0
            }
            campaign = "sale\(number)"
        }
        var event = event
        if operation.path.hasPrefix("/v1/scheduled/") {
            event = scheduled.withLock { operation.method == "DELETE" && $0.count > 1 ? $0.removeLast() : $0[0] }
        }
        if operation.path.contains("/messages/scheduled/") {
            device =
                messages.withLock { ids in
                    operation.method == "DELETE" && (ids[app]?.count ?? 0) > 1 ? ids[app]?.popLast() : ids[app]?.first
                } ?? device
        }
        let isOfEvent = ["/v1/events/", "/v1/scheduled/"].contains { operation.path.hasPrefix($0) }
        let user = operation.method == "DELETE" ? "leaver" : "u-7"
        var target = operation.path
        for (name, value) in [
            ("app", app), ("id", isOfEvent ? event : device), ("user", user), ("topic", "news"), ("category", "offers"),
            ("campaign", campaign),
        ] { target = target.replacing("{\(name)}", with: value) }
        if target.hasSuffix("/why") { target += "?event=\(event)" }
        return (target, body(of: operation, device))
    }

    private func body(of operation: Operation, _ device: String) -> String? {
        let message = #""message": {"notification": {"title": "T"}}"#
        return switch operation.path.split(separator: "/").suffix(2).joined(separator: "/") {
        case "rules/plan", "rules/apply":
            #"{"rules": [{"name": "s", "event": "e", "to": {"users": "$.u"}, \#(message)}]}"#
        case "campaigns/plan", "campaigns/apply":
            #"{"campaigns": [{"name": "news", "to": {"everyone": true}, \#(message)}]}"#
        case "{campaign}/start": #"{"confirm": true}"#
        case "{topic}/subscribe", "{topic}/unsubscribe": #"{"device_ids": ["\#(device)"]}"#
        case "{app}/explain": #"{"type": "order.shipped", "payload": {"user_id": "u-7"}}"#
        // To the whole audience.
        case "{id}/replay": "{}"
        default: operation.example
        }
    }
}
