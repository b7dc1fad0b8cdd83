internal import FanfareCore
internal import FanfareTools
internal import PushCrypto
internal import Threading

/// Signs the places at which lists go on, so that nobody makes one up, or takes one list's into another.
final class CursorKey: Sendable {
    private let database: ToolDatabase
    private let secret = Locked<[UInt8]?>(nil)

    init(_ database: ToolDatabase) {
        self.database = database
    }

    /// Writes a place.
    ///
    /// - Parameters:
    ///   - numbers: by which the list finds it again.
    ///   - list: which list it is, its filters included.
    /// - Returns: text for a query.
    /// - Throws: ``ToolError`` if the database cannot be asked.
    func seal(_ numbers: [Int64], of list: String) async throws -> String {
        let place = numbers.map(String.init).joined(separator: ".")
        return "\(place).\(Base64URL.encode(try await signature(place, list)))"
    }

    /// Reads a place.
    ///
    /// - Parameters:
    ///   - text: from a query.
    ///   - count: of how many numbers.
    ///   - list: which list is asked for, its filters included.
    /// - Returns: the numbers.
    /// - Throws: a ``Problem`` if it is not what this list gave.
    func open(_ text: String, count: Int, of list: String) async throws -> [Int64] {
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
            key = try await database.cursorSecret()
            secret.withLock { [key] in $0 = key }
        }
        return Array(try HMACSHA256.open().code(key: key ?? [], Array("\(list)\n\(place)".utf8)).prefix(16))
    }
}
