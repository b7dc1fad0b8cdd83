import PostgresClient
import TestKit
import Testing

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

    /// A symmetric error in encoding and decoding would pass the other tests.
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
                try row.read(0) as [String]
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
                texts.append("\(try row.read(7) as [Int64]) \(try row.read(8) as [String])")
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
