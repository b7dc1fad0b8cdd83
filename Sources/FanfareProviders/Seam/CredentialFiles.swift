internal import FanfareConfiguration
internal import PushCrypto

/// Reads the files of an app's credentials; each error names the key of the configuration.
package struct CredentialFiles: Sendable {
    private let guardedFolders: [String]

    /// - Parameter environment: variables of the process, for ``GuardedFolders``.
    package init(environment: [String: String]) {
        guardedFolders = GuardedFolders.paths(environment: environment)
    }

    /// Reads a file.
    ///
    /// - Parameters:
    ///   - key: the configuration key that names the file.
    ///   - origin: where to get such a file, for the error's advice.
    ///   - body: reads the file; receives the folders in which the modes of secret files are not checked.
    /// - Returns: the result of `body`.
    /// - Throws: ``DaemonError`` with the key.
    func read<Value>(
        _ key: String,
        from origin: String,
        _ body: (_ guardedFolders: [String]) throws(KeyError) -> Value
    ) throws(DaemonError) -> Value {
        do throws(KeyError) {
            return try body(guardedFolders)
        } catch {
            let mend = error.reason.mend
            let hint = mend.prefix(1).uppercased() + mend.dropFirst() + "."
            throw DaemonError(
                .configuration,
                "\(key): \(error.source): \(error.reason.problem)",
                hint: error.reason.needsAnotherFile ? "\(hint) \(origin)" : hint
            )
        }
    }
}
