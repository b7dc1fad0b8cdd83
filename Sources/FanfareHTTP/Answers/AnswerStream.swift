package import HummingbirdCore

/// A body that is written as its data arrives.
package protocol AnswerStream: Sendable {
    /// Writes the body; the connection is closed when it returns.
    ///
    /// - Parameter writer: receives the body.
    /// - Throws: errors of the connection.
    @concurrent func write(to writer: inout any ResponseBodyWriter) async throws
}
