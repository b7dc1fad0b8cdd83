internal import FanfareCore
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import NIOCore

/// What a request is answered with.
struct Answer: Sendable {
    var status: HTTPResponse.Status
    var headers: HTTPFields
    let body: [UInt8]
    /// What comes bit by bit instead; nil for ``body``.
    private var stream: (any AnswerStream)?

    /// Answers 200 with JSON.
    ///
    /// - Parameter json: the body.
    init(_ json: JSONValue) {
        self.init(.ok, json)
    }

    /// Answers with JSON.
    ///
    /// - Parameters:
    ///   - status: the status.
    ///   - json: the body.
    init(_ status: HTTPResponse.Status, _ json: JSONValue) {
        self.init(status, json.encoded, type: "application/json")
    }

    /// Answers with bytes.
    ///
    /// - Parameters:
    ///   - status: the status.
    ///   - body: the body.
    ///   - type: its media type.
    init(_ status: HTTPResponse.Status, _ body: [UInt8], type: String) {
        (self.status, self.body) = (status, body)
        headers = [.contentType: type, .cacheControl: "no-store"]
    }

    /// Answers with what comes as it happens.
    ///
    /// - Parameter stream: writes it.
    init(streaming stream: some AnswerStream) {
        self.init(.ok, [], type: "text/event-stream")
        self.stream = stream
        // nginx would keep it until a page is full.
        headers[.accelBuffering] = "no"
    }

    /// The same without its body.
    var head: Answer {
        var answer = Answer(status, [], type: "")
        answer.headers = headers
        return answer
    }

    /// 204.
    static var nothing: Answer {
        var answer = Answer(.noContent, [], type: "")
        answer.headers[.contentType] = nil
        return answer
    }

    /// As the server writes it.
    var response: Response {
        var headers = headers
        // What a browser makes of it is not for it to guess.
        headers[.xContentTypeOptions] = "nosniff"
        if let stream {
            let body = ResponseBody { writer in
                try await stream.write(to: &writer)
                try await writer.finish(nil)
            }
            return Response(status: status, headers: headers, body: body)
        }
        return Response(
            status: status,
            headers: headers,
            body: body.isEmpty ? .init() : .init(byteBuffer: ByteBuffer(bytes: body))
        )
    }
}

extension HTTPField.Name {
    /// Whether a proxy may wait until it has much of an answer.
    fileprivate static var accelBuffering: Self { accel }

    private static let accel = HTTPField.Name("X-Accel-Buffering") ?? .server
}
