import PostgresClient
import Threading

/// Sessions that write at the same time.
enum Writers {
    /// Runs `work` on as many threads, and waits for all of them.
    ///
    /// - Parameters:
    ///   - count: how many.
    ///   - work: what each does; it is given its number, from 0.
    /// - Returns: what each came to, in no order.
    /// - Throws: what one of them failed with.
    static func run<Value: Sendable>(
        _ count: Int,
        work: @escaping @Sendable (Int) throws -> Value
    ) throws -> [Value] {
        let results = Locked<[Result<Value, any Error>]>([])
        let threads = (0..<count).map { writer in
            WorkerThread.start(name: "writer") {
                let result = Result { try work(writer) }
                results.withLock { $0.append(result) }
            }
        }
        for thread in threads { thread.join() }
        return try results.withLock { $0 }.map { try $0.get() }
    }
}

/// A row in a table that nobody reads: what a commit costs this machine without Fanfare.
struct InsertPlain: PostgresStatement {
    typealias Row = Void
    static let name = "bench_insert_plain"
    static let sql = "INSERT INTO plain (type, payload) VALUES ('bench.none', '{\"user\": \"u1\", \"n\": 1}')"

    func bind(to binds: inout PostgresBinds) {}
}
