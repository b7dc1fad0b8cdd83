import PostgresClient
import TestKit
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
            int64s: try row.int64s(orNil: 0),
            int32s: try row.int32s(orNil: 1),
            int16s: try row.int16s(orNil: 2),
            bools: try row.bools(orNil: 3),
            doubles: try row.doubles(orNil: 4),
            timestamps: try row.timestamps(orNil: 5),
            strings: try row.strings(orNil: 6),
            byteStrings: try row.byteStrings(orNil: 7)
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
            int64s: try row.int64s(withNulls: 0),
            int32s: try row.int32s(withNulls: 1),
            int16s: try row.int16s(withNulls: 2),
            timestamps: try row.timestamps(withNulls: 3),
            strings: try row.strings(withNulls: 4),
            byteStrings: try row.byteStrings(withNulls: 5)
        )
    }
}

struct ValueTests {
    @Test(arguments: [Scalars(), .low, .plain, .high])
    func scalarsComeBackAsTheyWere(_ values: Scalars) async throws {
        let connection = try await connect()
        #expect(try connection.run(values) == [values])
    }

    @Test(arguments: [Arrays(), .empty, .full, .large])
    func arraysComeBackAsTheyWere(_ values: Arrays) async throws {
        let connection = try await connect()
        #expect(try connection.run(values) == [values])
    }

    @Test(arguments: [
        SparseArrays(int64s: [], int32s: [], int16s: [], timestamps: [], strings: [], byteStrings: []),
        SparseArrays(
            int64s: [nil],
            int32s: [nil],
            int16s: [nil],
            timestamps: [nil],
            strings: [nil],
            byteStrings: [nil]
        ),
        SparseArrays(
            int64s: [1, nil, .max],
            int32s: [nil, 2],
            int16s: [3, nil],
            timestamps: [nil, .infinity],
            strings: ["", nil, "x"],
            byteStrings: [[], nil, [1]]
        ),
    ])
    func nullsInArraysComeBack(_ values: SparseArrays) async throws {
        let connection = try await connect()
        #expect(try connection.run(values) == [values])
    }

    /// What goes in and out by the same mistake would pass the other tests.
    @Test func theServerSeesTheSameValues() async throws {
        struct AsText: PostgresStatement {
            static let name = "test_as_text"
            static let sql = """
                SELECT ARRAY[$1::text, $2::text, $3::text, $4::text, $5::text, $6::text, $7::text, $8::text,
                    $9::text, $10::text, $11::text, $12::jsonb ->> 'a']
                """

            func bind(to binds: inout PostgresBinds) {
                Scalars.plainSmall.bind(to: &binds)
                binds.append([1, -2] as [Int64])
                binds.append(["a b", nil, ""] as [String?])
                binds.append([[0xDE, 0xAD], []] as [[UInt8]])
                binds.append(#"{"a": "ü"}"#)
            }

            static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> [String] {
                try row.strings(0)
            }
        }
        let connection = try await connect()
        let expected = [
            "-1", "2", "-3", "true", "0.1", "2023-11-14 22:13:20.123456+00", "ä", "\\x00ff", "{1,-2}",
            "{\"a b\",NULL,\"\"}", "{\"\\\\xdead\",\"\\\\x\"}", "ü",
        ]
        #expect(try connection.run(AsText()) == [expected])
    }

    @Test func otherTypesOfTheSameFamilyAreRead() async throws {
        struct Family: PostgresStatement {
            static let name = "test_family"
            static let sql = """
                SELECT '18446744073709551615'::xid8, 4294967295::oid, 'n'::name, 'v'::varchar(5), 'b'::char(2),
                    '{"a":1}'::jsonb, '[1]'::json, '{1,2}'::xid8[], '{a,b}'::varchar[], '\\x0102'::bytea
                """

            static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> [String] {
                var texts = [String(try row.int64(0)), String(try row.int64(1))]
                for column in 2...6 { texts.append(try row.string(column)) }
                texts.append("\(try row.int64s(7)) \(try row.strings(8))")
                texts.append("\(try row.withBytes(9) { $0.byteCount } ?? -1)")
                return texts
            }
        }
        let connection = try await connect()
        let expected = [
            "-1", "4294967295", "n", "v", "b ", #"{"a": 1}"#, "[1]", #"[1, 2] ["a", "b"]"#, "2",
        ]
        #expect(try connection.run(Family()) == [expected])
    }

    @Test func elementsAreReadInPlace() async throws {
        struct Elements: PostgresStatement {
            static let name = "test_elements"
            static let sql = "SELECT ARRAY['a', NULL, '', 'bcd'], '{}'::bytea[], NULL::text[], '{1}'::bigint[]"

            static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> [Int?] {
                var sizes: [Int?] = []
                for column in 0...2 {
                    let count = try row.forEachElement(column) { sizes.append($0?.byteCount) }
                    sizes.append(count)
                }
                do {
                    try row.forEachElement(3) { _ in }
                } catch {
                    sizes.append(-1)
                }
                return sizes
            }
        }
        let connection = try await connect()
        #expect(try connection.run(Elements()) == [[1, nil, 0, 3, 4, 0, nil, -1]])
    }

    @Test func rowsKeepTheirOrder() async throws {
        struct Numbers: PostgresStatement {
            static let name = "test_numbers"
            static let sql = "SELECT n FROM pg_catalog.generate_series(1, 10000) AS n"

            static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Int32 { try row.int32(0) }
        }
        let connection = try await connect()
        #expect(try connection.run(Numbers()) == Array(1...10_000))
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
