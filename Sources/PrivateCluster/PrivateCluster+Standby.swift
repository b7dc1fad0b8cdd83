import Programs

extension PrivateCluster {
    /// Starts a standby of this server, which follows it by streaming replication.
    ///
    /// It is read-only until `pg_promote()` is called on it, and is an independent server then.
    ///
    /// - Returns: the standby, in a new directory; it accepts queries.
    /// - Throws: the reason why it does not run.
    public func startStandby() throws(ClusterError) -> PrivateCluster {
        try Self.start(options: options) { [self] (binaries, user, directories) throws(ClusterError) in
            let copy = [
                binaries.directory + "/pg_basebackup", "--pgdata=\(directories.data)", "--write-recovery-conf",
                "--checkpoint=fast", "--host=\(socketDirectory)", "--port=\(port)", "--username=postgres",
            ]
            do {
                _ = try Command.output(user.prefix + copy)
            } catch {
                throw ClusterError(.cannotPrepare, "a standby cannot be made: \(error)", hint: "Look at \(logFile).")
            }
        }
    }
}
