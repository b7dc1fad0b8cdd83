import Foundation

/// The directories of a cluster.
///
/// All files are in `home`, a directory of mode 0700 that the server's user owns. Its mode protects the socket, on
/// which every client is trusted. Home or socket move to the temporary directory if the server's user cannot reach the
/// requested directory (for example below /root), or if the socket's path would be too long.
struct ClusterDirectories {
    /// The directory of the data, the log and the lock.
    let home: String
    /// The directory of the Unix socket.
    let socket: String

    /// Those of the two that are in the temporary directory.
    let temporary: [String]

    var data: String { home + "/data" }
    var log: String { home + "/server.log" }

    /// The longest path that fits into a `sockaddr_un`, with its NUL.
    private static let longestSocketPath = 107

    private static var temporaryDirectory: String {
        // Resolved, since /tmp may be a link.
        URL(fileURLWithPath: NSTemporaryDirectory()).resolvingSymlinksInPath().path
    }

    /// Creates the directories, or reuses existing ones.
    ///
    /// - Parameters:
    ///   - directory: the requested directory; nil for a new temporary one.
    ///   - user: the required owner.
    /// - Returns: directories that `user` can use.
    /// - Throws: `cannotPrepare`.
    static func prepare(at directory: String?, for user: ServerUser) throws(ClusterError) -> ClusterDirectories {
        guard let directory else {
            let home = temporaryDirectory + "/fanfare-" + UUID().uuidString.prefix(13).lowercased()
            try claim(home, for: user)
            return ClusterDirectories(home: home, socket: home, temporary: [home])
        }
        let wanted = URL(fileURLWithPath: directory).standardizedFileURL.path
        // Derived from the requested path, so that the next start finds the same temporary directory.
        let fallback = temporaryDirectory + "/fanfare-\(user.id)-" + String(fingerprint(wanted), radix: 36)
        var home = wanted + "/postgres"
        do {
            try FileManager.default.createDirectory(atPath: wanted, withIntermediateDirectories: true)
        } catch {
            throw ClusterError(.cannotPrepare, "\(wanted) cannot be made: \(error.localizedDescription)")
        }
        try claim(home, for: user)
        if !user.canUse(home) {
            try? FileManager.default.removeItem(atPath: home)
            home = fallback
            try claim(home, for: user)
        }
        let fits = home.utf8.count + "/.s.PGSQL.65535".utf8.count <= longestSocketPath
        if !fits { try claim(fallback, for: user) }
        return ClusterDirectories(
            home: home,
            socket: fits ? home : fallback,
            temporary: fits && home != fallback ? [] : [fallback]
        )
    }

    /// Deletes the directories.
    func remove() {
        for directory in Set([home, socket]) {
            try? FileManager.default.removeItem(atPath: directory)
        }
    }

    /// Creates one directory with access for the user only; an existing one must already have this owner and mode.
    private static func claim(_ path: String, for user: ServerUser) throws(ClusterError) {
        let files = FileManager.default
        do {
            if (try? files.attributesOfItem(atPath: path)) == nil {
                try files.createDirectory(
                    atPath: path,
                    withIntermediateDirectories: false,
                    attributes: [.posixPermissions: 0o700]
                )
                if geteuid() == 0 {
                    try files.setAttributes(
                        [.ownerAccountID: user.id, .groupOwnerAccountID: user.groupID],
                        ofItemAtPath: path
                    )
                }
            }
            // Does not follow links: in a shared temporary directory another user may have created the name as a trap.
            let found = try files.attributesOfItem(atPath: path)
            let mode = (found[.posixPermissions] as? NSNumber)?.intValue
            let owner = (found[.ownerAccountID] as? NSNumber)?.intValue
            guard found[.type] as? FileAttributeType == .typeDirectory, owner == user.id, mode == 0o700 else {
                throw ClusterError(
                    .cannotPrepare,
                    "\(path) is not a directory of mode 0700 that belongs to user \(user.id)",
                    hint: "Delete it if it is a leftover of yours."
                )
            }
        } catch let error as ClusterError {
            throw error
        } catch {
            throw ClusterError(.cannotPrepare, "\(path) cannot be made: \(error.localizedDescription)")
        }
    }

    /// FNV-1a, which is the same in every run, unlike Swift's own hash.
    private static func fingerprint(_ text: String) -> UInt64 {
        text.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
    }
}
