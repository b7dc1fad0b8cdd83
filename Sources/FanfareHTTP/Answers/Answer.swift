package import FanfareCore
package import HTTPTypes
internal import Hummingbird
package import HummingbirdCore
internal import NIOCore

/// The response to a request.
package struct Answer: Sendable {
    var status: HTTPResponse.Status
    package var headers: HTTPFields
    let body: [UInt8]
    /// The streamed body; nil if ``body`` is the whole one.
    private var stream: (any AnswerStream)?

    /// Creates a response with status 200 and JSON.
    ///
    /// - Parameter json: the body.
    package init(_ json: JSONValue) {
        self.init(.ok, json)
    }

    /// Creates a response with JSON.
    ///
    /// - Parameters:
    ///   - status: the status.
    ///   - json: the body.
    package init(_ status: HTTPResponse.Status, _ json: JSONValue) {
        self.init(status, json.encoded, type: "application/json")
    }

    /// Creates a response with bytes.
    ///
    /// - Parameters:
    ///   - status: the status.
    ///   - body: the body.
    ///   - type: its media type.
    package init(_ status: HTTPResponse.Status, _ body: [UInt8], type: String) {
        (self.status, self.body) = (status, body)
        headers = [.contentType: type, .cacheControl: "no-store"]
    }

    /// Creates a response whose body is streamed.
    ///
    /// - Parameter stream: writes the body.
    package init(streaming stream: some AnswerStream) {
        self.init(.ok, [], type: "text/event-stream")
        self.stream = stream
        // Otherwise nginx buffers the stream.
        headers[.accelBuffering] = "no"
    }

    /// The same response without its body.
    var head: Answer {
        var answer = Answer(status, [], type: "")
        answer.headers = headers
        return answer
    }

    /// A 204 response.
    package static var nothing: Answer {
        var answer = Answer(.noContent, [], type: "")
        answer.headers[.contentType] = nil
        return answer
    }

    /// The response in the server library's form.
    var response: Response {
        var headers = headers
        // Keeps browsers from guessing another type.
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

/// A body that is written as its data arrives.
package protocol AnswerStream: Sendable {
    /// Writes the body; the connection is closed when it returns.
    ///
    /// - Parameter writer: receives the body.
    /// - Throws: errors of the connection.
    @concurrent func write(to writer: inout any ResponseBodyWriter) async throws
}
