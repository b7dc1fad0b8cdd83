/// The reason why a program under test cannot be used.
public struct ProgramError: Error, CustomStringConvertible {
    let message: String

    /// - Parameter message: the description of the problem.
    public init(message: String) {
        self.message = message
    }

    /// The description of the problem.
    public var description: String { message }
}
