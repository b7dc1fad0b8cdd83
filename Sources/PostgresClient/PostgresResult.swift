internal import CPostgres

/// A `PGresult` with exactly one owner; `PQclear` runs once, when it is released.
@safe
struct PostgresResult: ~Copyable {
    private let pointer: OpaquePointer

    init(owning pointer: OpaquePointer) {
        unsafe self.pointer = unsafe pointer
    }

    deinit {
        unsafe PQclear(pointer)
    }

    var rowCount: Int { unsafe Int(PQntuples(pointer)) }

    var columnCount: Int { unsafe Int(PQnfields(pointer)) }

    var status: ExecStatusType { unsafe PQresultStatus(pointer) }

    /// The rows that INSERT, UPDATE, DELETE, MERGE or SELECT affected; 0 for other commands.
    var affectedRowCount: Int { unsafe Int(String(cString: PQcmdTuples(pointer))) ?? 0 }

    /// The command's tag, such as `SELECT 1` or `ROLLBACK`.
    var commandTag: String { unsafe String(cString: PQcmdStatus(pointer)) }

    /// Returns row `index` for a decoder; usable only while the result is borrowed.
    borrowing func row(_ index: Int) -> PostgresRow {
        unsafe PostgresRow(result: pointer, index: Int32(index))
    }

    func columnName(_ column: Int) -> String {
        unsafe PQfname(pointer, Int32(column)).map { unsafe String(cString: $0) } ?? ""
    }

    /// Returns a value in text form; nil for NULL.
    func text(row: Int, column: Int) -> String? {
        guard unsafe PQgetisnull(pointer, Int32(row), Int32(column)) == 0 else { return nil }
        return unsafe String(cString: PQgetvalue(pointer, Int32(row), Int32(column)))
    }

    /// Returns a field of an error, such as its SQLSTATE, truncated if it is long.
    func errorField(_ field: DiagnosticField) -> String? {
        unsafe PQresultErrorField(pointer, Int32(field.rawValue)).map { unsafe String(serverText: $0) }
    }

    /// libpq's own error message, for errors that do not come from the server.
    var errorMessage: String { unsafe String(serverText: PQresultErrorMessage(pointer)) }
}

/// The fields of errors and notices, with the protocol's values (postgres_ext.h, `PG_DIAG_…`).
enum DiagnosticField: UInt8 {
    case severity = 0x56  // V, never translated
    case sqlState = 0x43  // C
    case message = 0x4D  // M
    case detail = 0x44  // D
    case hint = 0x48  // H
    case constraint = 0x6E  // n
    case position = 0x50  // P
    case context = 0x57  // W
}
