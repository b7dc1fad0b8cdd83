internal import COpenSSL
import Glibc

/// The bytes of a secret file, wiped on release.
@safe
struct KeyFile: ~Copyable {
    private static let sizeLimit = 64 * 1024
    private var bytes: [UInt8]

    private init(owning bytes: consuming [UInt8]) { self.bytes = bytes }

    deinit {
        var bytes = bytes
        Self.wipe(&bytes)
    }

    private static func wipe(_ bytes: inout [UInt8]) {
        unsafe bytes.withUnsafeMutableBytes { unsafe OPENSSL_cleanse($0.baseAddress, $0.count) }
    }

    /// Reads a secret file.
    ///
    /// - Parameters:
    ///   - path: the file; symbolic links are followed.
    ///   - guardedFolders: folders that are protected by other means; below them the mode is not checked.
    /// - Returns: its content.
    /// - Throws: ``KeyError``.
    static func read(_ path: String, guardedFolders: [String]) throws(KeyError) -> KeyFile {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { throw KeyError(reason: reason(of: errno), source: path) }
        defer { close(file) }
        var status = stat()
        guard unsafe fstat(file, &status) == 0 else { throw KeyError(reason: reason(of: errno), source: path) }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_size <= sizeLimit else {
            throw KeyError(reason: .notAKeyFile, source: path)
        }
        if status.st_mode & 0o077 != 0, !isBelow(guardedFolders, path) {
            throw KeyError(reason: .exposed(mode: UInt32(status.st_mode & 0o777)), source: path)
        }
        return try readAll(file, size: Int(status.st_size), path: path)
    }

    /// Passes the content to a closure.
    func withBytes<Result, Failure: Error>(
        _ body: (borrowing [UInt8]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(bytes)
    }

    private static func readAll(_ file: Int32, size: Int, path: String) throws(KeyError) -> KeyFile {
        var bytes = [UInt8](repeating: 0, count: size)
        var filled = 0
        while filled < size {
            let got = unsafe bytes.withUnsafeMutableBytes { buffer in
                unsafe Glibc.read(file, buffer.baseAddress?.advanced(by: filled), size - filled)
            }
            if got < 0 && errno == EINTR { continue }
            guard got >= 0 else { throw KeyError(reason: reason(of: errno), source: path) }
            if got == 0 { break }
            filled += got
        }
        bytes.removeLast(size - filled)
        if let text = PEMText.repaired(bytes) {
            wipe(&bytes)
            bytes = text
        }
        return KeyFile(owning: bytes)
    }

    private static func reason(of code: Int32) -> KeyError.Reason {
        switch code {
        case ENOENT, ENOTDIR: .missing
        default: .unreadable(unsafe String(cString: strerror(code)))
        }
    }

    private static func isBelow(_ folders: [String], _ path: String) -> Bool {
        guard let path = resolve(path) else { return false }
        return folders.contains { folder in
            guard !folder.isEmpty, let folder = resolve(folder), folder != "/" else { return false }
            return path.hasPrefix(folder + "/")
        }
    }

    /// Resolves symbolic links and `..`, which could otherwise lead out of a guarded folder.
    private static func resolve(_ path: String) -> String? {
        guard let resolved = unsafe realpath(path, nil) else { return nil }
        defer { unsafe free(resolved) }
        return unsafe String(cString: resolved)
    }
}
