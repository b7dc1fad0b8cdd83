internal import CCurl
import Glibc
internal import PushTransport

/// The trusted CA certificates, where they are more than the system's.
enum TrustStore {
    private static let sizeLimit = 8 * 1024 * 1024

    /// Joins a CA file with the system's bundle.
    ///
    /// libcurl uses either its default bundle or the given one, so the given one has to contain both. On a system that
    /// keeps its certificates in a hashed directory, libcurl looks there as well.
    ///
    /// - Parameter caFile: a PEM file.
    /// - Returns: the certificates of both.
    /// - Throws: ``TransportError`` if the file is unusable.
    static func joining(caFile: String) throws(TransportError) -> MemoryFile {
        guard let added = read(caFile) else { throw .caFile(caFile, unsafe String(cString: strerror(errno))) }
        guard contains(added, "-----BEGIN CERTIFICATE-----") || contains(added, "-----BEGIN TRUSTED CERTIFICATE-----")
        else { throw .caFile(caFile, "holds no PEM certificate") }
        guard let store = MemoryFile.holding(added + [UInt8(ascii: "\n")] + (systemBundle() ?? [])) else {
            throw .caFile(caFile, unsafe String(cString: strerror(errno)))
        }
        return store
    }

    private static func systemBundle() -> [UInt8]? {
        guard let easy = unsafe curl_easy_init() else { return nil }
        defer { unsafe curl_easy_cleanup(easy) }
        var path: UnsafePointer<CChar>?
        guard unsafe ccurl_getinfo_string(easy, CURLINFO_CAINFO, &path) == CURLE_OK, let path = unsafe path else {
            return nil
        }
        return read(unsafe String(cString: path))
    }

    private static func read(_ path: String) -> [UInt8]? {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 * 1024)
        while bytes.count < sizeLimit {
            let got = unsafe Glibc.read(file, &chunk, chunk.count)
            if got < 0 && errno == EINTR { continue }
            guard got >= 0 else { return nil }
            if got == 0 { break }
            bytes += chunk[..<got]
        }
        return bytes
    }

    private static func contains(_ bytes: [UInt8], _ text: StaticString) -> Bool {
        let marker = unsafe Array(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
        return bytes.indices.contains { bytes[$0] == marker[0] && bytes[$0...].starts(with: marker) }
    }
}
