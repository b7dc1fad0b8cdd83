import NIOHTTP1

/// The access control of the control interface: programs on this machine may use it, pages in its browsers may not.
///
/// A page can reach loopback too. It is recognized by its `Origin`, or by the foreign host name that resolved to this
/// address; and without an `Origin` it cannot send a JSON body.
enum ControlAdmission {
    private static let ownNames: Set<String> = ["127.0.0.1", "localhost", "[::1]"]

    /// Checks a request by its head.
    ///
    /// - Parameters:
    ///   - headers: the headers of the request.
    ///   - hasBody: whether the body has at least one byte.
    /// - Returns: the refusal; nil if the request is allowed.
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

    /// Returns the name in `name`, `name:port`, `[address]` or `[address]:port`.
    private static func name(ofHost host: String) -> String {
        let end = host.lastIndex(of: "]") ?? host.startIndex
        return host[..<(host[end...].firstIndex(of: ":") ?? host.endIndex)].lowercased()
    }

    private static func mediaType(_ field: String) -> String {
        field.prefix { $0 != ";" }.lowercased().filter { $0 != " " && $0 != "\t" }
    }
}
