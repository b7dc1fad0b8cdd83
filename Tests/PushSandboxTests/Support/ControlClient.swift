import Foundation
import FoundationNetworking

@testable import PushSandbox

/// A client of a sandbox's control interface.
struct ControlClient {
    let port: Int

    func send(
        _ method: String = "GET",
        _ path: String,
        body: String? = nil,
        headers: [String: String] = [:]
    ) async throws -> (status: Int, text: String) {
        guard let url = URL(string: "http://127.0.0.1:\(port)\(path)") else { throw URLError(.badURL) }
        var request = URLRequest(url: url)
        request.httpMethod = method
        request.httpBody = body.map { Data($0.utf8) }
        if body != nil { request.setValue("application/json", forHTTPHeaderField: "Content-Type") }
        for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
        let (data, response) = try await URLSession.shared.data(for: request)
        return ((response as? HTTPURLResponse)?.statusCode ?? 0, String(decoding: data, as: UTF8.self))
    }

    func received(_ query: String) async throws -> [ReceivedPush] {
        let answer = try await send("GET", "/received?" + query)
        return try answer.text.split(separator: "\n").map {
            try JSONDecoder().decode(ReceivedPush.self, from: Data($0.utf8))
        }
    }

    func counts(_ query: String = "") async throws -> SandboxCounts {
        try JSONDecoder().decode(SandboxCounts.self, from: Data(try await send("GET", "/counts" + query).text.utf8))
    }
}
