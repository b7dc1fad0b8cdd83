import Foundation
import PostgresClient
import PrivateCluster
import Programs
import TestKit

/// A small file system in memory, with a tablespace on it.
struct SmallDisk: Sendable {
    /// The name of the tablespace.
    static let tablespace = "small"
    private let path: String

    /// Whether the file system can be mounted, which only root can do.
    static var isPossible: Bool { getuid() == 0 }

    /// Mounts the file system, and creates the tablespace on a server.
    init(megabytes: Int, for cluster: PrivateCluster) async throws {
        path = NSTemporaryDirectory() + "fanfare-disk-" + UUID().uuidString.prefix(13).lowercased()
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let program = try await ProgramProcess(
            "/bin/mount",
            ["-t", "tmpfs", "-o", "size=\(megabytes)m", "fanfare-faults", path]
        )
        guard await program.exitStatus() == 0 else { throw RigError(message: "tmpfs cannot be mounted") }
        // The server's user owns the server's directory, and must own this one.
        let owner = try FileManager.default.attributesOfItem(atPath: cluster.directory)[.ownerAccountID] ?? 0
        try FileManager.default.setAttributes([.ownerAccountID: owner, .posixPermissions: 0o700], ofItemAtPath: path)
        let (url, path) = (cluster.connectionURL(), path)
        try await onThread("tablespace") {
            let connection = try PostgresConnection.open(PostgresOptions(url: url))
            try connection.execute("CREATE TABLESPACE \(Self.tablespace) LOCATION '\(path)'")
            // The schema's owner is another role.
            try connection.execute("GRANT CREATE ON TABLESPACE \(Self.tablespace) TO PUBLIC")
        }
    }

    /// Fills the file system.
    func fill() throws {
        let file = open(path + "/filler", O_CREAT | O_WRONLY, 0o600)
        guard file >= 0 else { throw RigError(message: "no filler") }
        defer { close(file) }
        let block = [UInt8](repeating: 1, count: 4096)
        while write(file, block, block.count) > 0 {}
    }

    /// Frees the space.
    func clear() throws {
        try FileManager.default.removeItem(atPath: path + "/filler")
    }

    /// Unmounts the file system; the server must have ended.
    func remove() async throws {
        let program = try await ProgramProcess("/bin/umount", [path])
        _ = await program.exitStatus()
        try FileManager.default.removeItem(atPath: path)
    }
}
