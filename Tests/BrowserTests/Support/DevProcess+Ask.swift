import BrowserKit
import Foundation
import TestKit
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

extension DevProcess {
    /// Sends a request to the daemon's HTTP API; returns null for an empty response.
    func ask(_ method: String, _ path: String, _ body: JSON? = nil) async throws -> JSON {
        try await Self.send(method, api + path, body, ["Authorization": "Bearer \(token)"])
    }

    /// Returns a browser's subscription at the simulated push service, bound to the demo's VAPID key.
    func subscription() async throws -> JSON {
        try await Self.send("POST", "\(control)/subscriptions", [:])
    }

    /// Sets the faults of the simulated push services.
    ///
    /// - Parameter faults: the list of faults in the form of `fanfare sandbox`; it replaces the previous list.
    /// - Throws: the service's error.
    func putFaults(_ faults: JSON) async throws {
        _ = try await Self.send("POST", "\(control)/faults", faults)
    }

    /// Waits for a push to a simulated browser.
    ///
    /// - Parameters:
    ///   - endpoint: the endpoint of its subscription.
    ///   - text: a text that the push contains.
    /// - Returns: the push as the simulated service decrypted it.
    func push(to endpoint: String, saying text: String) async throws -> String {
        let path = try #require(URL(string: endpoint)).path
        var last = 0
        for _ in 0..<10 {
            let lines = try await Self.load("GET", "\(control)/received?after=\(last)&wait=10", nil)
            for line in lines.split(separator: UInt8(ascii: "\n")) {
                let push = try JSONDecoder().decode(ReceivedPush.self, from: Data(line))
                last = push.number
                if push.path == path, let body = push.body, body.contains(text) { return body }
            }
        }
        throw ProgramError(message: "no push that says \(text) came")
    }

    private static func send(
        _ method: String,
        _ address: String,
        _ body: JSON? = nil,
        _ headers: [String: String] = [:]
    ) async throws -> JSON {
        let content = try body.map { try JSONEncoder().encode($0) }
        let answer = try await load(method, address, content, headers)
        return answer.isEmpty ? .null : try JSONDecoder().decode(JSON.self, from: answer)
    }

    private static func load(
        _ method: String,
        _ address: String,
        _ body: Data?,
        _ headers: [String: String] = [:]
    ) async throws -> Data {
        var request = URLRequest(url: try #require(URL(string: address)), timeoutInterval: 60)
        request.httpMethod = method
        request.httpBody = body
        if body != nil { request.setValue("application/json", forHTTPHeaderField: "Content-Type") }
        for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
        let (data, response) = try await URLSession.shared.data(for: request)
        guard let status = (response as? HTTPURLResponse)?.statusCode, 200..<300 ~= status else {
            throw ProgramError(message: "\(method) \(address): " + String(decoding: data, as: UTF8.self))
        }
        return data
    }
}
