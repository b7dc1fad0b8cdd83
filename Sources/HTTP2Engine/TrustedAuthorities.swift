internal import COpenSSL
import Glibc
internal import PushTransport
internal import Threading

/// The CA certificates that a TLS context trusts: the system's, and those of a CA file.
///
/// All contexts share one copy, since reading the system's certificates takes 25 to 50 ms and a megabyte.
@safe
final class TrustedAuthorities: @unchecked Sendable {
    // Sendable: filled before it is shared; OpenSSL does its own reference counting and locking.
    private let store: OpaquePointer
    private let plain = Locked<TLSContext?>(nil)

    /// Two instances with equal keys hold the same certificates.
    private struct Key: Hashable {
        let caFile: String?
        /// The files' states, which differ after a file was replaced.
        let states: [FileState?]
    }

    private struct FileState: Hashable {
        let inode: UInt
        let size: Int
        let seconds: Int
        let nanoseconds: Int

        /// Returns nil if the file does not exist.
        init?(_ path: String) {
            var state = stat()
            guard unsafe stat(path, &state) == 0 else { return nil }
            (inode, size) = (UInt(state.st_ino), Int(state.st_size))
            (seconds, nanoseconds) = (state.st_mtim.tv_sec, state.st_mtim.tv_nsec)
        }
    }

    /// The number of cached instances; installations have one or two CA files.
    private static let limit = 16
    private static let known = Locked<[Key: TrustedAuthorities]>([:])

    private init(owning store: OpaquePointer) { unsafe self.store = store }

    deinit { unsafe X509_STORE_free(store) }

    /// Returns the system's authorities and those of a file; reads them unless they are cached and unchanged.
    ///
    /// - Parameter caFile: a PEM file; nil for the system's alone.
    /// - Returns: the authorities.
    /// - Throws: ``TransportError`` if the file is unusable.
    static func reading(caFile: String?) throws(TransportError) -> TrustedAuthorities {
        if let caFile, unsafe access(caFile, R_OK) != 0 {
            throw .caFile(caFile, unsafe String(cString: strerror(errno)))
        }
        let key = Key(caFile: caFile, states: (systemPaths + [caFile].compactMap(\.self)).map(FileState.init))
        let found = known.withLock { known -> Result<TrustedAuthorities, TransportError> in
            if let authorities = known[key] { return .success(authorities) }
            do throws(TransportError) {
                let authorities = try read(caFile)
                if known.count >= limit { known = [:] }
                known[key] = authorities
                return .success(authorities)
            } catch {
                return .failure(error)
            }
        }
        return try found.get()
    }

    /// The bundle and the directory in which OpenSSL looks for the system's certificates.
    private static var systemPaths: [String] {
        [
            unsafe path(X509_get_default_cert_file_env(), X509_get_default_cert_file()),
            unsafe path(X509_get_default_cert_dir_env(), X509_get_default_cert_dir()),
        ]
    }

    /// Returns the value of an environment variable, or OpenSSL's built-in path.
    private static func path(_ variable: UnsafePointer<CChar>, _ standard: UnsafePointer<CChar>) -> String {
        if let named = unsafe getenv(variable) { return unsafe String(cString: named) }
        return unsafe String(cString: standard)
    }

    private static func read(_ caFile: String?) throws(TransportError) -> TrustedAuthorities {
        ERR_clear_error()
        guard let store = unsafe X509_STORE_new() else {
            throw TransportError(reason: .call("X509_STORE_new", problem: drainErrors()))
        }
        let authorities = unsafe TrustedAuthorities(owning: store)
        guard unsafe X509_STORE_set_default_paths(store) == 1 else {
            throw TransportError(reason: .call("X509_STORE_set_default_paths", problem: drainErrors()))
        }
        if let caFile, unsafe X509_STORE_load_file(store, caFile) != 1 {
            ERR_clear_error()
            throw .caFile(caFile, "holds no PEM certificate")
        }
        return authorities
    }

    /// Returns the one context without a client certificate, which all apps share: making a context takes 0.5 ms.
    ///
    /// - Returns: the same at each call.
    /// - Throws: ``TransportError`` if OpenSSL cannot make it.
    func context() throws(TransportError) -> TLSContext {
        try plain.withLock { plain throws(TransportError) in
            if let plain { return plain }
            let context = try TLSContext.open(self)
            plain = context
            return context
        }
    }

    /// Makes a context trust these certificates.
    func use(in context: OpaquePointer) { unsafe SSL_CTX_set1_cert_store(context, store) }
}
