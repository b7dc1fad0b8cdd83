// What the application's rows send, by Swift Testing: ./with-fanfare.sh swift test --package-path swift
import Foundation
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A problem of the machine or its programs, not of a push.
struct TestError: Error {
    let text: String
}

/// Runs SQL in one transaction and returns what it prints; use your application's driver instead.
func sql(_ text: String, _ values: [String: String] = [:]) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    let options = ["psql", "-XqAt", "--set=ON_ERROR_STOP=1", "--single-transaction", try variable("DATABASE_URL")]
    process.arguments = options + values.map { "--set=\($0)=\($1)" }
    let (input, output) = (Pipe(), Pipe())
    (process.standardInput, process.standardOutput) = (input, output)
    try process.run()
    try input.fileHandleForWriting.write(contentsOf: Data(text.utf8))
    try input.fileHandleForWriting.close()
    let printed = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw TestError(text: "psql failed: \(text)") }
    return printed.trimmingCharacters(in: .whitespacesAndNewlines)
}

func variable(_ name: String) throws -> String {
    guard let value = ProcessInfo.processInfo.environment[name] else {
        throw TestError(text: "\(name) is not set: run with-fanfare.sh swift test")
    }
    return value
}

/// Asks the simulated providers; each line of the answer is JSON.
func sandbox<Line: Decodable>(_ path: String, _ line: Line.Type = Line.self) async throws -> [Line] {
    guard let url = URL(string: try variable("SANDBOX_URL") + path) else { throw TestError(text: "no URL: \(path)") }
    let (answer, _) = try await URLSession.shared.data(from: url)
    return try answer.split(separator: UInt8(ascii: "\n")).map { try JSONDecoder().decode(Line.self, from: $0) }
}

struct Device: Decodable {
    let provider, token: String
}

struct Push: Decodable {
    let n: Int
    let target: String
    let headers: [String: String]
    let body: String

    struct Body: Decodable {
        struct APS: Decodable { let alert: [String: String] }
        let aps: APS
    }

    var alert: [String: String] {
        get throws { try JSONDecoder().decode(Body.self, from: Data(body.utf8)).aps.alert }
    }
}

/// Waits for the first push to a device. Fails if no device gets a push for 10 s.
func push(to token: String) async throws -> Push {
    var number = 0
    while true {
        let pushes = try await sandbox("/received?after=\(number)&wait=10", Push.self)
        if let push = pushes.first(where: { $0.target == token }) { return push }
        guard let last = pushes.last else { throw TestError(text: "no push to this device within 10 s") }
        number = last.n
    }
}

/// Waits until Fanfare has decided what an event sends to a user, and returns the outcome.
func verdict(of event: String, for user: String) async throws -> String {
    for _ in 0..<100 {
        let outcome = try sql(
            "SELECT outcome FROM fanfare.why_verdict(:event, :'user')", ["event": event, "user": user])
        if outcome != "waiting" { return outcome }
        try await Task.sleep(for: .milliseconds(100))
    }
    throw TestError(text: "nothing was decided within 10 s")
}

/// Tests of pushes, each with a user of its own, so that tests do not see each other's pushes.
struct PushTests {
    let user = "user-" + UUID().uuidString.prefix(8).lowercased()

    /// Registers a simulated iPhone of the user, in German, and returns its token.
    func newPhone() async throws -> String {
        let devices = try await sandbox("/devices?name=\(user)", [Device].self).joined()
        let token = try #require(devices.first { $0.provider == "apns" }).token
        _ = try sql(
            "SELECT fanfare.register_device('shop', 'apns', :'token', :'user', locale => 'de-DE')",
            ["token": token, "user": user])
        return token
    }

    /// Ships an order of the user, and returns the id of the event that this emits.
    func ship() throws -> String {
        try sql(
            """
            INSERT INTO orders (customer_id) VALUES (:'user');
            UPDATE orders SET status = 'shipped' WHERE customer_id = :'user';
            SELECT id FROM fanfare.events WHERE type = 'order.shipped' AND payload ->> 'customer_id' = :'user'
            """,
            ["user": user])
    }

    @Test func aShippedOrderIsPushedInTheLanguageOfThePhone() async throws {
        let phone = try await newPhone()
        let event = try ship()
        let push = try await push(to: phone)
        #expect(try push.alert == ["title": "Deine Bestellung", "body": "Sie ist unterwegs."])
        #expect(push.headers["apns-collapse-id"]?.hasPrefix("order-") == true)
        #expect(try await verdict(of: event, for: user) == "accepted")
    }

    @Test func aUserWhoOptedOutGetsNothing() async throws {
        _ = try await newPhone()
        _ = try sql("SELECT fanfare.set_preference('shop', :'user', 'orders', true)", ["user": user])
        #expect(try await verdict(of: try ship(), for: user) == "opted_out")
    }

    @Test func aUserWithoutADeviceGetsNothing() async throws {
        #expect(try await verdict(of: try ship(), for: user) == "no_device")
    }
}
