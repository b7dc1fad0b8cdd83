package import HTTPTypes

extension HTTPField.Name {
    /// The header with the id that the log has for a request.
    static let requestID = known("x-request-id")
    /// The header that tells a proxy whether to buffer a response.
    static let accelBuffering = known("X-Accel-Buffering")

    /// Returns a header's name.
    ///
    /// - Parameter name: a valid name.
    /// - Returns: the name.
    package static func known(_ name: String) -> HTTPField.Name {
        guard let name = HTTPField.Name(name) else { preconditionFailure("\(name) is not a field name") }
        return name
    }
}
