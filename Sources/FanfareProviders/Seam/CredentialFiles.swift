internal import FanfareConfiguration
internal import PushCrypto

/// Reads the files that an app's credentials are in; each error names the key of the configuration.
package struct CredentialFiles: Sendable {
    private let guardedFolders: [String]

    /// - Parameter environment: variables of the process, for ``GuardedFolders``.
    package init(environment: [String: String]) {
        guardedFolders = GuardedFolders.paths(environment: environment)
    }

    /// Reads a file.
    ///
    /// - Parameters:
    ///   - key: the configuration's key that names it.
    ///   - origin: where such a file comes from, for who needs another one.
    ///   - body: reads it; gets the folders below which the modes of secret files are not looked at.
    /// - Returns: what `body` returned.
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
