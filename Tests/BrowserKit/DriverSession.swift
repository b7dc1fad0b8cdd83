import Foundation
import TestKit

/// A browser of a chromedriver, controlled by WebDriver's HTTP API.
struct DriverSession: Sendable {
    /// The process id of the browser; 0 if the driver does not report it.
    let processID: Int
    private let port: Int
    private let base: String

    /// Starts a browser.
    ///
    /// - Parameters:
    ///   - port: the driver's port.
    ///   - capabilities: the browser's capabilities.
    /// - Throws: `BrowserError` if it does not start.
    init(port: Int, capabilities: JSON) async throws {
        let body: JSON = ["capabilities": ["alwaysMatch": capabilities]]
        let answer: JSON = try await Self.ask(port, "POST", "/session", body)
        guard let id = answer["sessionId"].text else {
            throw BrowserError(code: BrowserError.noAnswer, message: "the driver named no session")
        }
        self.port = port
        processID = answer["capabilities"]["goog:processID"].integer ?? 0
        base = "/session/\(id)"
    }

    /// Runs a command without parameters.
    func get<Value: Decodable>(_ path: String, as type: Value.Type = Value.self) async throws -> Value {
        try await Self.ask(port, "GET", base + path, nil)
    }

    /// Runs a command.
    func post<Value: Decodable>(_ path: String, _ body: JSON, as type: Value.Type = Value.self) async throws -> Value {
        try await Self.ask(port, "POST", base + path, body)
    }

    /// Runs a command without a result.
    func run(_ path: String, _ body: JSON = [:]) async throws {
        let _: JSON = try await post(path, body)
    }

    /// Deletes the resource at a path; the browser itself for an empty path.
    func delete(_ path: String) async throws {
        let _: JSON = try await Self.ask(port, "DELETE", base + path, nil)
    }

    private struct Answer<Value: Decodable>: Decodable {
        let value: Value
    }

    private struct Complaint: Decodable {
        let error: String
        let message: String
    }

    private static func ask<Value: Decodable>(
        _ port: Int,
        _ method: String,
        _ path: String,
        _ body: JSON?
    ) async throws -> Value {
        let request = DriverRequest(
            port: port,
            method: method,
            path: path,
            body: try body.map { try JSONEncoder().encode($0) }
        )
        let (status, data) = try await onThread("webdriver") { try request.answer() }
        guard status == 200 else {
            guard let complaint = try? JSONDecoder().decode(Answer<Complaint>.self, from: data).value else {
                throw BrowserError(code: BrowserError.noAnswer, message: String(decoding: data, as: UTF8.self))
            }
            // The first line of the driver's message is about the page, the others about the driver.
            let line = complaint.message.split(separator: "\n").first.map(String.init) ?? ""
            throw BrowserError(code: complaint.error, message: line)
        }
        return try JSONDecoder().decode(Answer<Value>.self, from: data).value
    }
}
