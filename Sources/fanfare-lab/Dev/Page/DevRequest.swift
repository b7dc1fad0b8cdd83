internal import FanfareCore
internal import HTTPTypes
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// A request to the daemon's HTTP API, on a connection of its own.
struct DevRequest: Sendable {
    /// The API's address.
    let api: DevAPI
    /// The method, such as `PUT`.
    let method: String
    /// The path.
    let target: String
    /// The header with a token or a report key.
    let authorization: String
    /// The body.
    let body: JSONValue

    /// More than any response to a page has.
    private static let answerLimit = 65_536

    /// Sends the request.
    ///
    /// - Returns: the response.
    /// - Throws: an error if there is no response; the daemon's own timeouts limit the wait.
    func answer() async throws -> DevAnswer {
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
            var answer: DevAnswer?
            for try await part in answers {
                switch part {
                case .head(let head):
                    answer = DevAnswer(.init(code: Int(head.status.code)))
                    answer?.retryAfter = head.headers.first(name: "Retry-After")
                case .body(let bytes):
                    guard (answer?.content.count ?? 0) + bytes.readableBytes <= Self.answerLimit else {
                        throw DevError(description: "The daemon's response is too long.")
                    }
                    answer?.content += Array(buffer: bytes)
                case .end: if let answer { return answer }
                }
            }
            throw DevError(description: "The daemon hung up.")
        }
    }

    private var parts: [HTTPClientRequestPart] {
        let content = ByteBuffer(bytes: body.encoded)
        let headers: HTTPHeaders = [
            "Host": "\(api.host):\(api.port)",
            "Authorization": authorization,
            "Content-Type": "application/json",
            "Content-Length": "\(content.readableBytes)",
        ]
        let head = HTTPRequestHead(version: .http1_1, method: .init(rawValue: method), uri: target, headers: headers)
        return [.head(head), .body(.byteBuffer(content)), .end(nil)]
    }
}

/// A response, of the daemon or for the page.
struct DevAnswer: Sendable {
    /// The status.
    let status: HTTPResponse.Status
    /// The body, which is JSON; empty for none.
    var content: [UInt8]
    /// The header that says when to retry.
    var retryAfter: String?

    /// Creates a response.
    init(_ status: HTTPResponse.Status, _ content: [UInt8] = []) {
        (self.status, self.content) = (status, content)
    }

    /// Whether the request was done.
    var isSuccess: Bool { 200..<300 ~= status.code }
}
