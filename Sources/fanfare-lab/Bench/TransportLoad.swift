import Foundation
import HTTP2Engine
import Programs
import PushCrypto
import PushTransport
import Threading

/// A load of the same message to one device after another, as fast as the responses arrive, for any sender.
///
/// Each push has its own token and delivery id, as in the daemon: a constant id costs HPACK one byte, a varying one
/// evicts other fields from the table. Only h2load repeats the same ones, because it cannot vary them.
struct TransportLoad: Sendable {
    /// The result of one run.
    struct Result: Sendable {
        let requests: Int
        let seconds: Double
        let cpuSeconds: Double

        /// The CPU microseconds per request, user and system.
        var microseconds: Double { cpuSeconds * 1_000_000 / Double(requests) }
        var rate: Double { Double(requests) / seconds }
    }

    let sink: BenchSink
    /// The provider token, the same for all senders.
    let token: String
    var requests: Int
    /// The pushes that senders cycle through: many more than fit into an HPACK table.
    private let pushes = (0..<1024).map { _ in
        let token = (0..<4).map { _ in String(UInt64.random(in: 1 << 60...UInt64.max), radix: 16) }
        return (path: "/3/device/" + token.joined(), id: UUID().uuidString.lowercased())
    }
    var connections = 2
    var streams = 100

    /// Creates the load, and signs the token.
    init(sink: BenchSink, requests: Int) throws {
        self.sink = sink
        self.requests = requests
        token = try JSONWebToken.sign(
            header: ["kid": .string(sink.keyID)],
            claims: ["iss": .string(sink.teamID), "iat": .integer(Int64(Date().timeIntervalSince1970))],
            with: SigningKey.load(pemFile: sink.keyFile, expecting: .es256)
        )
    }

    /// Returns the same load with another number of requests.
    func with(requests: Int) -> TransportLoad {
        var load = self
        load.requests = requests
        return load
    }

    /// Runs the daemon's transport, one thread for each connection, as in the daemon.
    func engine() throws -> Result {
        let lanes = Locked<[Lane]>([])
        let failures = Locked<[String]>([])
        let start = KernelClock.monotonic.microseconds
        let threads = (0..<connections).map { index in
            let share = requests / connections + (index < requests % connections ? 1 : 0)
            return WorkerThread.start(name: "transport") {
                do {
                    let lane = try run(share)
                    lanes.withLock { $0.append(lane) }
                } catch {
                    failures.withLock { $0.append("\(error)") }
                }
            }
        }
        for thread in threads { thread.join() }
        let seconds = Double(KernelClock.monotonic.microseconds - start) / 1_000_000
        if let failure = failures.withLock({ $0.first }) { throw BenchError("the transport failed: \(failure)") }
        let (answered, cpu) = lanes.withLock { lanes in
            (lanes.reduce(0) { $0 + $1.accepted }, lanes.reduce(0) { $0 + $1.cpuMicroseconds })
        }
        guard answered == requests else { throw BenchError("the transport had \(answered) of \(requests) answers") }
        return Result(requests: requests, seconds: seconds, cpuSeconds: Double(cpu) / 1_000_000)
    }

    /// Runs h2load, nghttp2's best client; nil if it is not installed.
    ///
    /// h2load does not wait for the server's SETTINGS, and its requests are refused if the server allows fewer streams
    /// at first, as APNs does. Such a run is repeated.
    ///
    /// - Parameter wrapper: the words before its command.
    /// - Returns: the result.
    /// - Throws: if it fails, or requests are refused in each of 20 runs.
    func h2load(under wrapper: [String] = []) throws -> Result? {
        guard let program = BenchPlace.program("h2load") else { return nil }
        let body = NSTemporaryDirectory() + "fanfare-bench-" + UUID().uuidString
        try Data(Self.body).write(to: URL(fileURLWithPath: body))
        defer { try? FileManager.default.removeItem(atPath: body) }
        for _ in 1...20 {
            if let result = try h2load(wrapper + [program], body: body) { return result }
        }
        throw BenchError("h2load had never \(requests) answers of 200")
    }

    /// - Returns: the result; nil unless all responses were successful.
    private func h2load(_ command: [String], body: String) throws -> Result? {
        var words = command + ["-n\(requests)", "-c\(connections)", "-m\(streams)", "-t\(connections)", "-d", body]
        for (name, value) in fields + [("apns-id", pushes[0].id)] { words += ["-H", "\(name): \(value)"] }
        words.append(sink.endpoint + pushes[0].path)
        let cpu = ProcessFiles.endedChildrenCPU
        let start = KernelClock.monotonic.microseconds
        let ended = try Command.wait(for: words)
        let seconds = Double(KernelClock.monotonic.microseconds - start) / 1_000_000
        guard ended.status == 0 else { throw BenchError("h2load ended with \(ended.status)") }
        guard ended.output.contains(" \(requests) succeeded") else { return nil }
        return Result(requests: requests, seconds: seconds, cpuSeconds: ProcessFiles.endedChildrenCPU - cpu)
    }

    /// One thread's part of the load.
    private struct Lane: Sendable {
        let accepted: Int
        let cpuMicroseconds: Int64
    }

    private func run(_ count: Int) throws -> Lane {
        let start = KernelClock.threadCPU.microseconds
        var options = TransportOptions()
        options.connections = 1
        options.streams = streams
        options.caFile = sink.caFile
        let client: any PushTransport = try HTTP2Engine(endpoint: Endpoint(sink.endpoint), options: options)
        let head = try HeaderBlock(fields.map { try HeaderField($0.0, $0.1) }, varyingName: "apns-id")
        let body = PushBody(Self.body)
        let (paths, ids) = (pushes.map { Array($0.path.utf8) }, pushes.map { Array($0.id.utf8) })
        var (submitted, answered, accepted) = (0, 0, 0)
        var answers: [PushAnswer] = []
        var requests: [PushRequest] = []
        while answered < count {
            let free = min(client.freeSlots, count - submitted)
            for offset in 0..<free {
                let number = submitted + offset
                let (path, id) = (paths[number % paths.count], ids[number % ids.count])
                requests.append(
                    try PushRequest(tag: UInt64(number), path: path, head: head, varyingValue: id, body: body)
                )
            }
            submitted += client.submit(requests[...])
            requests.removeAll(keepingCapacity: true)
            client.poll(timeout: .seconds(1), into: &answers)
            answered += answers.count
            accepted += answers.count { $0.status == 200 }
            answers.removeAll(keepingCapacity: true)
        }
        client.close(into: &answers)
        return Lane(accepted: accepted, cpuMicroseconds: KernelClock.threadCPU.microseconds - start)
    }

    // As long as a typical payload.
    private static let body = Array(
        (#"{"aps":{"alert":{"title":"Order 4711","body":"On its way, and with you tomorrow between nine and eleven"},"#
            + #""sound":"default","thread-id":"orders","badge":3},"order":{"id":4711}}"#).utf8
    )
    private var fields: [(String, String)] {
        [
            ("content-type", "application/json"), ("authorization", "bearer \(token)"), ("apns-topic", sink.topic),
            ("apns-push-type", "alert"), ("apns-priority", "10"), ("apns-expiration", "4102444800"),
        ]
    }
}
