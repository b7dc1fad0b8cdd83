import PostgresClient
import Threading

/// Sessions that write at the same time, all of them ready before the first begins.
final class Writers<Value: Sendable>: Sendable {
    private let threads: [WorkerThread]
    private let gate: Mailbox<Never>
    private let results: Mailbox<Result<Value, any Error>>

    /// Opens the sessions, each on a thread of its own.
    ///
    /// - Parameters:
    ///   - count: how many.
    ///   - database: where.
    ///   - preparation: what each does before, at its own pace.
    ///   - work: what each does once all are let loose.
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

    /// Lets all of them loose, once, and waits for the last.
    ///
    /// - Returns: what each came to, in no order.
    /// - Throws: what one of them failed with.
    @discardableResult
    func run() throws -> [Value] {
        gate.close()
        for thread in threads { thread.join() }
        return try (results.take(timeout: .zero) ?? []).map { try $0.get() }
    }
}

/// Numbers from 0 up, each given to one of several writers: so all are busy until the work is done.
final class Turns: Sendable {
    private let count: Int
    private let given = Locked(0)

    init(_ count: Int) {
        self.count = count
    }

    /// The next number; nil if all are given.
    func next() -> Int? {
        given.withLock { given in
            guard given < count else { return nil }
            defer { given += 1 }
            return given
        }
    }
}

/// A row in a table that nobody reads: what a commit costs this machine without Fanfare.
struct InsertPlain: PostgresStatement {
    typealias Row = Void
    static let name = "bench_insert_plain"
    static let sql = "INSERT INTO plain (type, payload) VALUES ('bench.none', '{\"user\": \"u1\", \"n\": 1}')"

    func bind(to binds: inout PostgresBinds) {}
}
