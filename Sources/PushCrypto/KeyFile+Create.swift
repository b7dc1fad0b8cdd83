import Glibc

extension KeyFile {
    /// Writes a secret to a new file that only its owner may read and write, and syncs it to disk.
    ///
    /// - Parameters:
    ///   - path: the file, which must not exist yet.
    ///   - bytes: its content.
    /// - Throws: ``KeyError``; a partial file is removed.
    static func create(_ path: String, _ bytes: [UInt8]) throws(KeyError) {
        let file = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode_t(0o600))
        guard file >= 0 else { throw KeyError(reason: failure(errno), source: path) }
        // Sets the mode exactly, since the umask may have removed bits.
        let problem = fchmod(file, 0o600) == 0 ? write(bytes, to: file) : errno
        let closing = close(file) == 0 ? 0 : errno
        guard problem == 0, closing == 0 else {
            _ = unsafe unlink(path)
            throw KeyError(reason: failure(problem == 0 ? closing : problem), source: path)
        }
    }

    /// Writes all bytes.
    ///
    /// - Returns: 0, or the system's error code.
    private static func write(_ bytes: [UInt8], to file: Int32) -> Int32 {
        var done = 0
        while done < bytes.count {
            let written = unsafe bytes.withUnsafeBytes { buffer in
                unsafe Glibc.write(file, buffer.baseAddress?.advanced(by: done), bytes.count - done)
            }
            if written < 0 && errno == EINTR { continue }
            guard written > 0 else { return written < 0 ? errno : EIO }
            done += written
        }
        return fsync(file) == 0 ? 0 : errno
    }

    private static func failure(_ code: Int32) -> KeyError.Reason {
        code == EEXIST ? .exists : .unwritable(unsafe String(cString: strerror(code)))
    }
}
