import Foundation
import Glibc

/// Prevents two sandboxes in one folder: the second would move the first one's ledger away.
final class FolderLock: Sendable {
    private let handle: FileHandle

    /// Locks the folder.
    ///
    /// The kernel releases the lock when the process ends.
    ///
    /// - Parameter path: the folder.
    /// - Throws: `SandboxError` if another sandbox holds the lock.
    init(_ path: String) throws(SandboxError) {
        let file = path + "/sandbox.lock"
        if !FileManager.default.fileExists(atPath: file) {
            _ = FileManager.default.createFile(atPath: file, contents: nil, attributes: [.posixPermissions: 0o600])
        }
        guard let handle = FileHandle(forWritingAtPath: file) else {
            throw SandboxError(.folder, "cannot open \(file); make the folder writable or choose another")
        }
        guard flock(handle.fileDescriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw SandboxError(.folder, "another sandbox is using \(path); stop it or choose another folder")
        }
        self.handle = handle
    }

    /// Releases the folder, even if a child process that is being started has a copy of the descriptor.
    func release() {
        _ = flock(handle.fileDescriptor, LOCK_UN)
        try? handle.close()
    }
}
