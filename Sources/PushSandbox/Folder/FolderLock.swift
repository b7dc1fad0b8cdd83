import Foundation
import Glibc

/// Keeps a second sandbox out of a folder: it would move the first one's ledger away.
final class FolderLock: Sendable {
    private let handle: FileHandle

    /// Takes the folder.
    ///
    /// The kernel lets go of it when the process ends, however it ends.
    ///
    /// - Parameter path: the folder.
    /// - Throws: `SandboxError` if another sandbox has it.
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

    /// Lets go of the folder, also where a child that is just being started has a copy of the descriptor.
    func release() {
        _ = flock(handle.fileDescriptor, LOCK_UN)
        try? handle.close()
    }
}
