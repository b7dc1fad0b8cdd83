internal import FanfareCore
internal import FanfareRecords
internal import FanfareTools
internal import PostgresClient
internal import PushCrypto
internal import Threading

/// Signs the positions in lists, so that a client can neither forge one nor use it in another list.
package final class CursorKey: Sendable {
    private let database: ToolDatabase
    private let secret = Locked<[UInt8]?>(nil)

    init(_ database: ToolDatabase) {
        self.database = database
    }

    /// Returns a signed position.
    ///
    /// - Parameters:
    ///   - numbers: the numbers by which the list finds the position.
    ///   - list: the list's name, including its filters.
    /// - Returns: text for a query.
    /// - Throws: ``ToolError`` if the database cannot be queried.
    package func seal(_ numbers: [Int64], of list: String) async throws -> String {
        let place = numbers.map(String.init).joined(separator: ".")
        return "\(place).\(Base64URL.encode(try await signature(place, list)))"
    }

    /// Reads a signed position.
    ///
    /// - Parameters:
    ///   - text: the text from a query.
    ///   - count: how many numbers the position has.
    ///   - list: the requested list's name, including its filters.
    /// - Returns: the numbers.
    /// - Throws: a ``Problem`` if this list did not return it.
    package func open(_ text: String, count: Int, of list: String) async throws -> [Int64] {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        let numbers = parts.dropLast().compactMap { Int64($0) }
        guard parts.count == count + 1, numbers.count == count, let given = Base64URL.decode(String(parts[count]))
        else {
            throw Self.wrong
        }
        let right = try await signature(parts.dropLast().joined(separator: "."), list)
        guard given.count == right.count, zip(given, right).reduce(0 as UInt8, { $0 | ($1.0 ^ $1.1) }) == 0 else {
            throw Self.wrong
        }
        return numbers
    }

    private static let wrong = Problem(
        .malformed,
        "after is not a place in this list",
        hint: "Pass `next` of the previous page, with the same filters."
    )

    private func signature(_ place: String, _ list: String) async throws -> [UInt8] {
        var key = secret.withLock { $0 }
        if key == nil {
            key = try await database.rows(of: SQL.readCursorSecret()).first ?? []
            secret.withLock { [key] in $0 = key }
        }
        return Array(try HMACSHA256.open().code(key: key ?? [], Array("\(list)\n\(place)".utf8)).prefix(16))
    }
}
