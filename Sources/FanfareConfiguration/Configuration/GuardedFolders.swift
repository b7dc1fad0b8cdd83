/// The folders in which the modes of secret files are not checked: systemd and container platforms mount them, set the
/// modes, and protect the folders themselves.
package enum GuardedFolders {
    /// - Parameter environment: variables of the process; one names systemd's credentials folder.
    /// - Returns: the folders' paths; they need not exist.
    package static func paths(environment: [String: String]) -> [String] {
        ["/run/secrets"] + [environment["CREDENTIALS_DIRECTORY"]].compactMap { $0 }
    }
}
