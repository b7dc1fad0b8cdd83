import Foundation
public import Programs

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A running `fanfare sandbox`: the simulated push services, as a separate process.
public final class SandboxProcess: Sendable {
    /// Its ports and files.
    public let ready: SandboxReady
    /// The process, to stop or to signal.
    public let process: ProgramProcess
    private let ownDirectory: String?

    /// Starts a sandbox and waits until it is ready.
    ///
    /// - Parameters:
    ///   - directory: the directory of its files; nil for a temporary one, deleted by ``stop()``.
    ///   - arguments: further arguments, such as `--sink`.
    /// - Returns: the sandbox.
    /// - Throws: an error if the program does not exist or exits early.
    public static func start(directory: String? = nil, arguments: [String] = []) async throws -> SandboxProcess {
        let temporary = NSTemporaryDirectory() + "fanfare-sandbox-" + UUID().uuidString.prefix(13).lowercased()
        let place = directory ?? temporary
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        let program = try FanfareBinary.path()
        let process = try await ProgramProcess(program, ["sandbox", "--dir", place] + arguments)
        for await line in process.output {
            let ready = try JSONDecoder().decode(SandboxReady.self, from: Data(line.utf8))
            return SandboxProcess(ready, process, ownDirectory: directory == nil ? place : nil)
        }
        var complaint: [String] = []
        for await line in process.errors { complaint.append(line) }
        throw ProgramError(message: "the sandbox ended: " + complaint.suffix(5).joined(separator: "; "))
    }

    private init(_ ready: SandboxReady, _ process: ProgramProcess, ownDirectory: String?) {
        self.ready = ready
        self.process = process
        self.ownDirectory = ownDirectory
    }

    /// Stops the sandbox and deletes its temporary files.
    public func stop() async {
        await process.stop()
        if let ownDirectory { try? FileManager.default.removeItem(atPath: ownDirectory) }
    }

    /// Returns the requests received after the entry `number`, oldest first.
    ///
    /// - Parameters:
    ///   - number: the number of the last entry already seen; 0 for all.
    ///   - limit: the maximum number of entries; nil for all.
    /// - Returns: the entries.
    /// - Throws: an error if the sandbox does not answer, or keeps counts only.
    public func received(after number: Int = 0, limit: Int? = nil) async throws -> [ReceivedPush] {
        let limit = limit.map { "&limit=\($0)" } ?? ""
        return try Self.decodeLines(await control("GET", "/received?after=\(number)\(limit)"))
    }

    /// Waits until a number of requests was received; the sandbox does the waiting.
    ///
    /// - Parameters:
    ///   - count: the minimum number of entries.
    ///   - number: the number of the last entry already seen.
    ///   - seconds: the time limit.
    /// - Returns: all entries after `number`, `count` of them or more.
    /// - Throws: an error if there are fewer after the time limit.
    public func awaitReceived(_ count: Int, after number: Int = 0, seconds: Int = 120) async throws -> [ReceivedPush] {
        let total = try await awaitCounts(received: number + count, seconds: seconds).received
        guard total >= number + count else {
            throw ProgramError(message: "after \(seconds) s the sandbox has \(total) pushes, not \(number + count)")
        }
        return try await received(after: number)
    }

    /// Returns the counts since the start.
    ///
    /// - Parameters:
    ///   - received: the number of requests to wait for; 0 to return at once.
    ///   - seconds: the time limit.
    /// - Returns: the counts, which may be lower.
    /// - Throws: an error if the sandbox does not answer.
    public func awaitCounts(received: Int = 0, seconds: Int = 120) async throws -> SandboxCounts {
        let answer = try await control("GET", "/counts?at_least=\(received)&wait=\(seconds)", seconds: seconds)
        return try JSONDecoder().decode(SandboxCounts.self, from: answer)
    }

    /// Replaces the faults in force.
    ///
    /// - Parameter faults: the JSON list of `POST /faults`; `[]` removes all.
    /// - Throws: an error if the sandbox rejects them, with index and field.
    public func setFaults(_ faults: String) async throws {
        _ = try await control("POST", "/faults", Data(faults.utf8))
    }

    /// Returns a simulated browser's subscription, the same for the same name.
    ///
    /// - Parameters:
    ///   - name: the end of its endpoint's path.
    ///   - service: the push service of its endpoint, as `POST /subscriptions` names it.
    /// - Returns: the subscription.
    /// - Throws: an error if the sandbox does not answer.
    public func subscription(_ name: String, at service: String = "rfc") async throws -> BrowserSubscription {
        let body = Data(#"{"name": "\#(name)", "service": "\#(service)"}"#.utf8)
        return try JSONDecoder().decode(
            BrowserSubscription.self,
            from: await control("POST", "/subscriptions", body)
        )
    }

    /// Returns a simulated device of one provider, the same for the same name.
    ///
    /// - Parameters:
    ///   - provider: the provider's name.
    ///   - name: 1 to 60 letters, digits and hyphens.
    /// - Returns: the device.
    /// - Throws: an error if the sandbox does not answer, or does not simulate the provider.
    public func device(of provider: String, named name: String) async throws -> SimulatedDevice {
        let answer = try await control("GET", "/devices?name=\(name)")
        let all = try JSONDecoder().decode([SimulatedDevice].self, from: answer)
        guard let device = all.first(where: { $0.provider == provider }) else {
            throw ProgramError(message: "the sandbox has no devices of \(provider)")
        }
        return device
    }

    /// Registers simulated apps at FCM, by their Firebase installation id or by a token.
    ///
    /// - Parameters:
    ///   - name: the installation's id; the start of the ids if there is a range.
    ///   - numbers: the ends of the ids after a hyphen, at most 10000; nil for the one installation of the name.
    ///   - address: `fid`, `token`, or `none` for an app that was removed.
    /// - Throws: an error if the sandbox does not answer, or keeps no more.
    public func registerInstallations(_ name: String, _ numbers: Range<Int>? = nil, by address: String) async throws {
        let range = numbers.map { #", "first": \#($0.lowerBound), "count": \#($0.count)"# } ?? ""
        let body = Data(#"{"name": "\#(name)", "address": "\#(address)"\#(range)}"#.utf8)
        _ = try await control("POST", "/installations", body)
    }

    static func decodeLines(_ lines: Data) throws -> [ReceivedPush] {
        let decoder = JSONDecoder()
        return try lines.split(separator: UInt8(ascii: "\n")).map {
            try decoder.decode(ReceivedPush.self, from: Data($0))
        }
    }

    private func control(
        _ method: String,
        _ path: String,
        _ body: Data? = nil,
        seconds: Int = 0
    ) async throws -> Data {
        guard let url = URL(string: "http://127.0.0.1:\(ready.controlPort)\(path)") else {
            throw ProgramError(message: "no URL: \(path)")
        }
        var request = URLRequest(url: url, timeoutInterval: Double(seconds) + 30)
        request.httpMethod = method
        request.httpBody = body
        if body != nil { request.setValue("application/json", forHTTPHeaderField: "Content-Type") }
        let (data, response) = try await URLSession.shared.data(for: request)
        guard let status = (response as? HTTPURLResponse)?.statusCode, 200..<300 ~= status else {
            throw ProgramError(message: "\(method) \(path): " + String(decoding: data, as: UTF8.self))
        }
        return data
    }
}
