import Foundation
import PostgresClient
import PrivateCluster
import TestKit

/// A file system in memory that is soon full, with a tablespace on it.
struct SmallDisk: Sendable {
    /// Name of the tablespace.
    static let tablespace = "small"
    private let path: String

    /// Only root mounts.
    static var isPossible: Bool { getuid() == 0 }

    /// Mounts it, and gives a server the tablespace.
    init(megabytes: Int, for cluster: PrivateCluster) async throws {
        path = NSTemporaryDirectory() + "fanfare-disk-" + UUID().uuidString.prefix(13).lowercased()
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let program = try ProgramProcess(
            "/bin/mount",
            ["-t", "tmpfs", "-o", "size=\(megabytes)m", "fanfare-faults", path]
        )
        guard await program.exitStatus() == 0 else { throw RigError(message: "tmpfs cannot be mounted") }
        // The server's user owns its directory, and is to own this one.
        let owner = try FileManager.default.attributesOfItem(atPath: cluster.directory)[.ownerAccountID] ?? 0
        try FileManager.default.setAttributes([.ownerAccountID: owner, .posixPermissions: 0o700], ofItemAtPath: path)
        let (url, path) = (cluster.connectionURL(), path)
        try await onThread("tablespace") {
            let connection = try PostgresConnection.open(PostgresOptions(url: url))
            try connection.execute("CREATE TABLESPACE \(Self.tablespace) LOCATION '\(path)'")
            // The schema's owner is not us.
            try connection.execute("GRANT CREATE ON TABLESPACE \(Self.tablespace) TO PUBLIC")
        }
    }

    /// Leaves no room.
    func fill() throws {
        let file = open(path + "/filler", O_CREAT | O_WRONLY, 0o600)
        guard file >= 0 else { throw RigError(message: "no filler") }
        defer { close(file) }
        let block = [UInt8](repeating: 1, count: 4096)
        while write(file, block, block.count) > 0 {}
    }

    /// Makes room again.
    func clear() throws {
        try FileManager.default.removeItem(atPath: path + "/filler")
    }

    /// Unmounts it; the server must have ended.
    func remove() async throws {
        let program = try ProgramProcess("/bin/umount", [path])
        _ = await program.exitStatus()
        try FileManager.default.removeItem(atPath: path)
    }
}
