import PostgresClient
import Testing

/// One value of every kind, bound and returned.
struct Scalars: PostgresStatement, Equatable, CustomTestStringConvertible {
    static let name = "test_scalars"
    static let sql = "SELECT $1, $2, $3, $4, $5, $6, $7, $8"

    var int64: Int64?
    var int32: Int32?
    var int16: Int16?
    var bool: Bool?
    var double: Double?
    var timestamp: Timestamp?
    var string: String?
    var bytes: [UInt8]?

    func bind(to binds: inout PostgresBinds) {
        binds.append(int64)
        binds.append(int32)
        binds.append(int16)
        binds.append(bool)
        binds.append(double)
        binds.append(timestamp)
        binds.append(string)
        binds.append(bytes)
    }

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Scalars {
        Scalars(
            int64: try row.int64(orNil: 0),
            int32: try row.int32(orNil: 1),
            int16: try row.int16(orNil: 2),
            bool: try row.bool(orNil: 3),
            double: try row.double(orNil: 4),
            timestamp: try row.timestamp(orNil: 5),
            string: try row.string(orNil: 6),
            bytes: try row.bytes(orNil: 7)
        )
    }

    static let low = Scalars(
        int64: .min,
        int32: .min,
        int16: .min,
        bool: false,
        double: -.infinity,
        timestamp: .minusInfinity,
        string: "",
        bytes: []
    )
    static let high = Scalars(
        int64: .max,
        int32: .max,
        int16: .max,
        bool: true,
        double: .greatestFiniteMagnitude,
        timestamp: .infinity,
        string: "naïve 🎺 \u{10FFFF}\n\"'\\",
        bytes: Array(0...255)
    )
    static let plain = Scalars(
        int64: -1,
        int32: 2,
        int16: -3,
        bool: true,
        double: 0.1,
        timestamp: Timestamp(microseconds: 1_700_000_000_123_456),
        string: String(repeating: "ä", count: 100_000),
        bytes: [UInt8](repeating: 0, count: 3_000_000)
    )
}

/// One array of every kind, bound and returned.
struct Arrays: PostgresStatement, Equatable, CustomTestStringConvertible {
    static let name = "test_arrays"
    static let sql = "SELECT $1, $2, $3, $4, $5, $6, $7, $8"

    var int64s: [Int64]?
    var int32s: [Int32]?
    var int16s: [Int16]?
    var bools: [Bool]?
    var doubles: [Double]?
    var timestamps: [Timestamp]?
    var strings: [String]?
    var byteStrings: [[UInt8]]?

    func bind(to binds: inout PostgresBinds) {
        binds.append(int64s)
        binds.append(int32s)
        binds.append(int16s)
        binds.append(bools)
        binds.append(doubles)
        binds.append(timestamps)
        binds.append(strings)
        binds.append(byteStrings)
    }

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Arrays {
        Arrays(
            int64s: try row.read(0),
            int32s: try row.read(1),
            int16s: try row.read(2),
            bools: try row.read(3),
            doubles: try row.read(4),
            timestamps: try row.read(5),
            strings: try row.read(6),
            byteStrings: try row.read(7)
        )
    }

    static let empty = Arrays(
        int64s: [],
        int32s: [],
        int16s: [],
        bools: [],
        doubles: [],
        timestamps: [],
        strings: [],
        byteStrings: []
    )
    static let full = Arrays(
        int64s: [.min, 0, .max],
        int32s: [.min, .max],
        int16s: [.min, .max],
        bools: [true, false],
        doubles: [0, -0.5, .infinity],
        timestamps: [.minusInfinity, Timestamp(microseconds: 0), .infinity],
        strings: ["", "a,b", "{}", "NULL", "\"\\", "🎺"],
        byteStrings: [[], [0], Array(0...255)]
    )
    static let large = Arrays(
        int64s: (0..<20_000).map { $0 &* 0x5851_F42D_4C95_7F2D },
        strings: (0..<5_000).map { String(repeating: "x", count: $0 % 50) },
        byteStrings: (0..<5_000).map { [UInt8](repeating: UInt8($0 % 251), count: $0 % 70) }
    )
}

/// Arrays with NULLs in them.
struct SparseArrays: PostgresStatement, Equatable, CustomTestStringConvertible {
    static let name = "test_sparse_arrays"
    static let sql = "SELECT $1, $2, $3, $4, $5, $6"

    var int64s: [Int64?]
    var int32s: [Int32?]
    var int16s: [Int16?]
    var timestamps: [Timestamp?]
    var strings: [String?]
    var byteStrings: [[UInt8]?]

    func bind(to binds: inout PostgresBinds) {
        binds.append(int64s)
        binds.append(int32s)
        binds.append(int16s)
        binds.append(timestamps)
        binds.append(strings)
        binds.append(byteStrings)
    }

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> SparseArrays {
        SparseArrays(
            int64s: try row.read(0),
            int32s: try row.read(1),
            int16s: try row.read(2),
            timestamps: try row.read(3),
            strings: try row.read(4),
            byteStrings: try row.read(5)
        )
    }
}

// Test output names each argument; some of these are megabytes.
extension Scalars {
    var testDescription: String { "\(int64.map(String.init) ?? "NULL") …" }
}

extension Arrays {
    var testDescription: String { "\(int64s.map { String($0.count) } ?? "NULL") bigints …" }
}

extension SparseArrays {
    var testDescription: String { "\(int64s.count) bigints or NULLs …" }
}

extension Scalars {
    static let plainSmall = {
        var values = plain
        values.string = "ä"
        values.bytes = [0, 255]
        return values
    }()
}
