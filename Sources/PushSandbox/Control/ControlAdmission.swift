import NIOHTTP1

/// Who may use the control interface: programs of this machine, and no page in a browser on it.
///
/// A page can reach loopback too. It is known by its `Origin`, or by the foreign name under which it made the browser find
/// this address; and without an `Origin` it cannot send a body as JSON.
enum ControlAdmission {
    private static let ownNames: Set<String> = ["127.0.0.1", "localhost", "[::1]"]

    /// Judges a request by its head.
    ///
    /// - Parameters:
    ///   - headers: all of them.
    ///   - hasBody: whether there is at least one byte of it.
    /// - Returns: the refusal; nil if it may come in.
    static func refusal(_ headers: HTTPHeaders, hasBody: Bool) -> ControlAnswer? {
        let hosts = headers["host"]
        guard hosts.count == 1, ownNames.contains(name(ofHost: hosts[0])) else {
            return .failure(.forbidden, "Host: must be 127.0.0.1, localhost or [::1], with or without the port")
        }
        guard !headers.contains(name: "origin") else {
            return .failure(.forbidden, "Origin: pages in a browser are not let in; ask from a program, such as curl")
        }
        guard !hasBody || headers["content-type"].map(mediaType) == ["application/json"] else {
            return .failure(.unsupportedMediaType, "Content-Type: a body must be sent as application/json")
        }
        return nil
    }

    /// The name in `name`, `name:port`, `[address]` or `[address]:port`.
    private static func name(ofHost host: String) -> String {
        let end = host.lastIndex(of: "]") ?? host.startIndex
        return host[..<(host[end...].firstIndex(of: ":") ?? host.endIndex)].lowercased()
    }

    private static func mediaType(_ field: String) -> String {
        field.prefix { $0 != ";" }.lowercased().filter { $0 != " " && $0 != "\t" }
    }
}
