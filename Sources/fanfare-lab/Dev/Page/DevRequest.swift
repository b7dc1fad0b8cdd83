internal import FanfareCore
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// A request to the daemon's HTTP API, on a connection of its own.
struct DevRequest: Sendable {
    /// The API's address and token.
    let api: DevAPI
    /// The method, such as `PUT`.
    let method: String
    /// The path.
    let target: String
    /// The body.
    let body: JSONValue

    /// Sends the request.
    ///
    /// - Returns: the response's status.
    /// - Throws: an error if there is no response; the daemon's own timeouts limit the wait.
    func status() async throws -> Int {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(.seconds(5))
            .connect(host: api.host, port: api.port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHTTPClientHandlers()
                    return try NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>(
                        wrappingChannelSynchronously: channel
                    )
                }
            }
        return try await channel.executeThenClose { answers, output in
            for part in parts { try await output.write(part) }
            for try await case .head(let head) in answers { return Int(head.status.code) }
            throw DevError(description: "The daemon hung up.")
        }
    }

    private var parts: [HTTPClientRequestPart] {
        let content = ByteBuffer(bytes: body.encoded)
        let headers: HTTPHeaders = [
            "Host": "\(api.host):\(api.port)",
            "Authorization": "Bearer \(api.token)",
            "Content-Type": "application/json",
            "Content-Length": "\(content.readableBytes)",
        ]
        let head = HTTPRequestHead(version: .http1_1, method: .init(rawValue: method), uri: target, headers: headers)
        return [.head(head), .body(.byteBuffer(content)), .end(nil)]
    }
}
