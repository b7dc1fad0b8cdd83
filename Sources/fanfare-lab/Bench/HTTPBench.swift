import Foundation
import PostgresClient
import Threading

/// Loads on a daemon's HTTP API.
struct HTTPBench: Sendable {
    /// The durations of requests that all had the expected response.
    struct Answers: Sendable {
        /// The microseconds since each request was due, in ascending order.
        let microseconds: [Int64]
        let seconds: Double

        /// The requests per second.
        var rate: Double { Double(microseconds.count) / seconds }

        /// Returns a quantile in milliseconds.
        func milliseconds(_ quantile: Double) -> Double {
            let rank = Int((Double(microseconds.count) * quantile).rounded(.up)) - 1
            return Double(microseconds[max(0, rank)]) / 1000
        }
    }

    let daemon: DaemonProcess
    let database: BenchDatabase
    let port: Int
    let token: String
    let clients: Int

    /// Emits batches of 100 events that no rule matches.
    ///
    /// - Parameters:
    ///   - rate: the events per second of all clients.
    ///   - seconds: the duration.
    ///   - besideBroadcast: whether broadcasts to all devices run at the same time, one after the other.
    /// - Returns: the durations of the requests.
    /// - Throws: if a response is not 202, or the broadcasts end early.
    func emits(_ rate: Int, seconds: Double, besideBroadcast: Bool) throws -> Answers {
        let connection = try database.connect()
        defer { connection.close() }
        var events: [String] = []
        if besideBroadcast {
            // Enough broadcasts to keep the daemon busy for longer than the load; the rest is cancelled.
            for _ in 0..<max(1, Int(seconds) * 200_000 / database.devices) {
                let event = try connection.query("SELECT fanfare.emit('bench.broadcast', '{\"title\": \"News\"}')")
                events += event.rows.compactMap { $0.first.flatMap { $0 } }
            }
        }
        let event = #"{"type": "bench.none", "payload": {"user": "u1", "n": 1}}"#
        let body = #"{"events": ["# + Array(repeating: event, count: 100).joined(separator: ",") + "]}"
        let request = HTTPLoadClient.request("POST", "/v1/events/batch", body: body, token: token, port: port)
        let answers = try run(count: Int(seconds * Double(rate) / 100), interval: 100_000_000 / Int64(rate)) {
            client,
            _ in
            try client.ask(request, expecting: 202)
        }
        if besideBroadcast, try !connection.hasWork() { throw BenchError("the broadcasts ended before the emits did") }
        for event in events { _ = try connection.query("SELECT fanfare.cancel($1::bigint)", event) }
        try daemon.waitUntilIdle(on: connection)
        return answers
    }

    /// Registers new devices, one per request, as fast as the responses arrive.
    ///
    /// - Parameter seconds: the approximate duration.
    /// - Returns: the registrations per second.
    /// - Throws: if a response is not 200.
    func registrations(seconds: Double) throws -> Double {
        let mark = UUID().uuidString.replacing("-", with: "").lowercased()
        let end = KernelClock.monotonic.microseconds + Int64(seconds * 1_000_000)
        let answers = try run(count: nil, interval: 0) { client, number in
            guard KernelClock.monotonic.microseconds < end else { return false }
            let device =
                #"{"provider": "apns", "token": "\#(mark)\#(String(format: "%032x", number))", "user_id": "new"}"#
            let request = HTTPLoadClient.request(
                "PUT",
                "/v1/apps/bench/devices",
                body: device,
                token: token,
                port: port
            )
            return try client.ask(request, expecting: 200)
        }
        let connection = try database.connect()
        defer { connection.close() }
        // The next run starts with as many devices as this one.
        try connection.execute("DELETE FROM fanfare.devices WHERE user_id = 'new'")
        return answers.rate
    }

    /// Opens readers of the tail while nothing happens.
    ///
    /// - Parameter count: the number of readers.
    /// - Returns: the growth of the daemon's memory in MiB.
    /// - Throws: if a reader is rejected.
    func memory(ofReaders count: Int) throws -> Double {
        note("\(count) readers of the tail")
        let before = ProcessFiles.memory(of: daemon.process.processID).now
        let request = HTTPLoadClient.request("GET", "/v1/tail", body: nil, token: token, port: port)
        let readers = try (0..<count).map { _ in
            let reader = try HTTPLoadClient(port: port)
            try reader.begin(request, expecting: 200)
            return reader
        }
        let after = ProcessFiles.memory(of: daemon.process.processID).now
        return withExtendedLifetime(readers) { (after - before) / 1_048_576 }
    }

    /// Lets all clients send requests at the same time.
    ///
    /// - Parameters:
    ///   - count: the number of requests of all clients; nil to continue until `ask` returns false.
    ///   - interval: the microseconds between the times at which requests are due; 0 for no pause.
    ///   - ask: sends the request of a number; returns false to end.
    /// - Returns: the durations of the requests.
    /// - Throws: the error of a client.
    private func run(
        count: Int?,
        interval: Int64,
        ask: @escaping @Sendable (HTTPLoadClient, Int) throws -> Bool
    ) throws -> Answers {
        let (turns, connections) = (Turns(count ?? .max), try (0..<clients).map { _ in try HTTPLoadClient(port: port) })
        let results = Mailbox<Result<[Int64], any Error>>()
        let start = KernelClock.monotonic.microseconds
        let threads = connections.map { client in
            WorkerThread.start(name: "client") {
                results.put(
                    Result {
                        var taken: [Int64] = []
                        while let number = turns.next() {
                            let due =
                                interval > 0 ? start + Int64(number) * interval : KernelClock.monotonic.microseconds
                            let wait = due - KernelClock.monotonic.microseconds
                            if wait > 0 { Thread.sleep(forTimeInterval: Double(wait) / 1_000_000) }
                            guard try ask(client, number) else { break }
                            taken.append(KernelClock.monotonic.microseconds - due)
                        }
                        return taken
                    }
                )
            }
        }
        for thread in threads { thread.join() }
        let seconds = Double(KernelClock.monotonic.microseconds - start) / 1_000_000
        let taken = try (results.take(timeout: .zero) ?? []).flatMap { try $0.get() }
        guard !taken.isEmpty else { throw BenchError("no request was answered") }
        return Answers(microseconds: taken.sorted(), seconds: seconds)
    }
}
