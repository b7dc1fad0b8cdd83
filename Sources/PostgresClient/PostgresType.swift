/// A type's OID in `pg_type`; these never change between server versions (catalog/pg_type.dat).
package struct PostgresType: RawRepresentable, Hashable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    static let bool = PostgresType(rawValue: 16)
    static let bytea = PostgresType(rawValue: 17)
    static let char = PostgresType(rawValue: 18)
    static let name = PostgresType(rawValue: 19)
    static let int8 = PostgresType(rawValue: 20)
    static let int2 = PostgresType(rawValue: 21)
    static let int4 = PostgresType(rawValue: 23)
    static let text = PostgresType(rawValue: 25)
    static let oid = PostgresType(rawValue: 26)
    static let json = PostgresType(rawValue: 114)
    static let float8 = PostgresType(rawValue: 701)
    static let unknown = PostgresType(rawValue: 705)
    static let bpchar = PostgresType(rawValue: 1042)
    static let varchar = PostgresType(rawValue: 1043)
    static let timestamptz = PostgresType(rawValue: 1184)
    static let jsonb = PostgresType(rawValue: 3802)
    static let xid8 = PostgresType(rawValue: 5069)

    static let boolArray = PostgresType(rawValue: 1000)
    static let byteaArray = PostgresType(rawValue: 1001)
    static let int2Array = PostgresType(rawValue: 1005)
    static let int4Array = PostgresType(rawValue: 1007)
    static let textArray = PostgresType(rawValue: 1009)
    static let int8Array = PostgresType(rawValue: 1016)
    static let float8Array = PostgresType(rawValue: 1022)
    static let timestamptzArray = PostgresType(rawValue: 1185)

    /// The element type of an array type; nil for any other type.
    var element: PostgresType? {
        switch rawValue {
        case 199: .json
        case 271: .xid8
        case 1000: .bool
        case 1001: .bytea
        case 1002: .char
        case 1003: .name
        case 1005: .int2
        case 1007: .int4
        case 1009: .text
        case 1014: .bpchar
        case 1015: .varchar
        case 1016: .int8
        case 1022: .float8
        case 1028: .oid
        case 1185: .timestamptz
        case 3807: .jsonb
        default: nil
        }
    }
}
