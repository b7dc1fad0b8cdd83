import PostgresClient
import Threading

/// Sessions that write at the same time, all of them ready before the first starts.
final class Writers<Value: Sendable>: Sendable {
    private let threads: [WorkerThread]
    private let gate: Mailbox<Never>
    private let results: Mailbox<Result<Value, any Error>>

    /// Opens the sessions, each on a thread of its own.
    ///
    /// - Parameters:
    ///   - count: the number of sessions.
    ///   - database: the database.
    ///   - preparation: the preparation of each session.
    ///   - work: the work of each session after the common start.
    init(
        _ count: Int,
        to database: BenchDatabase,
        preparation: @escaping @Sendable (PostgresConnection) throws -> Void = { _ in },
        work: @escaping @Sendable (PostgresConnection) throws -> Value
    ) {
        let (isReady, gate) = (Mailbox<Void>(), Mailbox<Never>())
        let results = Mailbox<Result<Value, any Error>>()
        threads = (0..<count).map { _ in
            WorkerThread.start(name: "writer") {
                let session = Result {
                    let session = try database.connect()
                    try preparation(session)
                    return session
                }
                isReady.put(())
                while gate.take() != nil {}
                results.put(Result { try work(session.get()) })
            }
        }
        var waiting = count
        while waiting > 0 { waiting -= isReady.take()?.count ?? 0 }
        self.gate = gate
        self.results = results
    }

    deinit { gate.close() }

    /// Starts all sessions at once, and waits for the last.
    ///
    /// - Returns: the results of the sessions, in no order.
    /// - Throws: the error of a session.
    @discardableResult
    func run() throws -> [Value] {
        gate.close()
        for thread in threads { thread.join() }
        return try (results.take(timeout: .zero) ?? []).map { try $0.get() }
    }
}

/// Numbers from 0, each given to one of several writers, so that all are busy until the work is done.
final class Turns: Sendable {
    private let count: Int
    private let given = Locked(0)

    init(_ count: Int) {
        self.count = count
    }

    /// Returns the next number; nil if none is left.
    func next() -> Int? {
        given.withLock { given in
            guard given < count else { return nil }
            defer { given += 1 }
            return given
        }
    }
}

extension SQL {
    /// Inserts a row into a plain table: the cost of a commit on this machine without Fanfare.
    static let insertPlain = Statement<Void>(
        "bench_insert_plain",
        "INSERT INTO plain (type, payload) VALUES ('bench.none', '{\"user\": \"u1\", \"n\": 1}')"
    )
}
