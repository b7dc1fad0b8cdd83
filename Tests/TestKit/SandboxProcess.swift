public import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A running `fanfare sandbox`: the push services, simulated, in a process of their own.
public final class SandboxProcess: Sendable {
    /// What the sandbox prints when it is ready.
    public struct Ready: Decodable, Sendable {
        /// Port of TLS and HTTP/2, for all providers.
        public let tlsPort: Int
        /// Port of the control interface, plain HTTP/1.1.
        public let controlPort: Int
        /// Where it keeps its files.
        public let dir: String
        /// The certificate authority to trust, PEM.
        public let caFile: String
        /// A configuration for `fanfare` that uses it all.
        public let configFile: String
    }

    /// Ports and files.
    public let ready: Ready
    /// The process, to stop or to signal.
    public let process: ProgramProcess
    private let ownDirectory: String?

    /// Starts a sandbox and waits until it is ready.
    ///
    /// - Parameters:
    ///   - directory: where it makes its files; nil for a temporary one, deleted by ``stop()``.
    ///   - arguments: more arguments, such as `--sink`.
    /// - Returns: the sandbox.
    /// - Throws: if there is no such program or it ends early.
    public static func start(directory: String? = nil, arguments: [String] = []) async throws -> SandboxProcess {
        let temporary = NSTemporaryDirectory() + "fanfare-sandbox-" + UUID().uuidString.prefix(13).lowercased()
        let place = directory ?? temporary
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        let program = try FanfareBinary.path()
        let process = try await onThread("sandbox") {
            try ProgramProcess(program, ["sandbox", "--dir", place] + arguments)
        }
        for await line in process.output {
            let decoder = JSONDecoder()
            decoder.keyDecodingStrategy = .convertFromSnakeCase
            let ready = try decoder.decode(Ready.self, from: Data(line.utf8))
            return SandboxProcess(ready, process, ownDirectory: directory == nil ? place : nil)
        }
        var complaint: [String] = []
        for await line in process.errors { complaint.append(line) }
        throw ProgramError(message: "the sandbox ended: " + complaint.suffix(5).joined(separator: "; "))
    }

    private init(_ ready: Ready, _ process: ProgramProcess, ownDirectory: String?) {
        self.ready = ready
        self.process = process
        self.ownDirectory = ownDirectory
    }

    /// Ends the sandbox and deletes its temporary files.
    public func stop() async {
        await process.stop()
        if let ownDirectory { try? FileManager.default.removeItem(atPath: ownDirectory) }
    }

    /// What was received after the entry `number`, oldest first.
    ///
    /// - Parameter number: the `n` of the last entry already seen; 0 for all.
    /// - Returns: the entries so far.
    /// - Throws: if the sandbox does not answer.
    public func received(after number: Int = 0) async throws -> [ReceivedPush] {
        let lines = try await control("GET", "/received?after=\(number)")
        return try lines.split(separator: UInt8(ascii: "\n")).map { try ReceivedPush(jsonLine: Data($0)) }
    }

    /// Numbers by kind of answer, as the sandbox counts them.
    ///
    /// - Returns: the JSON object of `GET /counts`.
    /// - Throws: if the sandbox does not answer.
    public func counts() async throws -> Data {
        try await control("GET", "/counts")
    }

    /// Adds faults.
    ///
    /// - Parameter faults: the JSON list of `POST /faults`.
    /// - Throws: if the sandbox refuses them.
    public func addFaults(_ faults: String) async throws {
        _ = try await control("POST", "/faults", Data(faults.utf8))
    }

    private func control(_ method: String, _ path: String, _ body: Data? = nil) async throws -> Data {
        guard let url = URL(string: "http://127.0.0.1:\(ready.controlPort)\(path)") else {
            throw ProgramError(message: "no URL: \(path)")
        }
        var request = URLRequest(url: url)
        request.httpMethod = method
        request.httpBody = body
        let (data, response) = try await URLSession.shared.data(for: request)
        guard let status = (response as? HTTPURLResponse)?.statusCode, 200..<300 ~= status else {
            throw ProgramError(message: "\(method) \(path): " + String(decoding: data, as: UTF8.self))
        }
        return data
    }
}

/// One request that the sandbox received: a line of `GET /received`.
public struct ReceivedPush: Sendable {
    /// Its number, from 1, in order of arrival.
    public let number: Int
    /// When it was complete, in nanoseconds on the sandbox's clock.
    public let nanoseconds: Int
    /// `apns`, `fcm` or `webpush`.
    public let provider: String
    /// Path of the request.
    public let path: String
    /// Header fields, lower case.
    public let headers: [String: String]
    /// Status it was answered with.
    public let status: Int
    /// Reason in the answer, if any.
    public let reason: String?
    /// The whole line, for fields not named here, such as `body`, `connection`, `stream`.
    public let json: Data

    init(jsonLine: Data) throws {
        struct Line: Decodable {
            let n: Int
            let atNs: Int
            let provider: String
            let path: String
            let headers: [String: String]
            let status: Int
            let reason: String?
        }
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let line = try decoder.decode(Line.self, from: jsonLine)
        (number, nanoseconds, provider, path) = (line.n, line.atNs, line.provider, line.path)
        (headers, status, reason, json) = (line.headers, line.status, line.reason, jsonLine)
    }
}

/// Where the `fanfare` program is.
public enum FanfareBinary {
    /// Finds it: `FANFARE_BINARY`, else beside the test program in the build folder.
    ///
    /// - Returns: its path.
    /// - Throws: if it is not there.
    public static func path() throws -> String {
        if let given = ProcessInfo.processInfo.environment["FANFARE_BINARY"] { return given }
        let tests = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        let beside = tests.deletingLastPathComponent().appendingPathComponent("fanfare").path
        guard FileManager.default.isExecutableFile(atPath: beside) else {
            throw ProgramError(message: "no program at \(beside): build it, or set FANFARE_BINARY")
        }
        return beside
    }
}
