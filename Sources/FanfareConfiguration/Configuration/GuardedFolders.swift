/// The folders below which the modes of secret files are not looked at: systemd and container platforms, which mount them,
/// set those and keep others out.
package enum GuardedFolders {
    /// - Parameter environment: variables of the process; systemd names its folder of credentials in one.
    /// - Returns: the folders as they are named, there or not.
    package static func paths(environment: [String: String]) -> [String] {
        ["/run/secrets"] + [environment["CREDENTIALS_DIRECTORY"]].compactMap { $0 }
    }
}
