internal import HummingbirdCore

/// An answer that comes bit by bit.
protocol AnswerStream: Sendable {
    /// Writes it; the connection is closed when it returns.
    ///
    /// - Parameter writer: where to.
    /// - Throws: what the connection says.
    @concurrent func write(to writer: inout any ResponseBodyWriter) async throws
}
