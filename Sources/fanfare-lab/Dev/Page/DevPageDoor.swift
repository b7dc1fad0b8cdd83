internal import FanfareConfiguration
internal import FanfareCore
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

/// Serves the page of `deploy/examples/browser` as `deploy/examples/server.mjs` does.
struct DevPageDoor: HTTPResponder {
    typealias Context = BasicRequestContext

    /// Registers devices.
    let backend: DevBackend

    private static let bodyLimit = 16_384
    private static let reportLimit = 65_536

    func respond(to request: Request, context: Context) async -> Response {
        // A page whose name was made to resolve to loopback (DNS rebinding) still sends its own host name.
        guard ListenAddress(tcp: request.head.authority ?? "")?.isLocal == true else { return Self.answer(.forbidden) }
        if request.method == .get, let file = DevPageFiles.at(request.uri.path) {
            return Self.answer(.ok, file.content, file.type)
        }
        switch (request.method, request.uri.path) {
        case (.get, "/push/key"):
            return Self.answer(.ok, (["key": .string(backend.key)] as JSONValue).encoded, "application/json")
        case (.put, "/push/device"): return await handOn(request, to: backend.register)
        case (.post, "/push/sign-out"): return await handOn(request, to: backend.signOut)
        case (.post, "/push/reports"):
            let authorization = request.headers[.authorization] ?? ""
            return await handOn(request, upTo: Self.reportLimit) { await backend.report($0, authorization) }
        default: return Self.answer(.notFound)
        }
    }

    private func handOn(
        _ request: Request,
        upTo limit: Int = bodyLimit,
        to handler: (JSONValue) async -> DevAnswer
    ) async -> Response {
        // Only a page of this origin can send this type: other origins need a preflight, which fails without CORS
        // headers.
        guard request.headers[.contentType]?.hasPrefix("application/json") == true else {
            return Self.answer(.unsupportedMediaType)
        }
        guard let body = try? await request.body.collect(upTo: limit) else {
            return Self.answer(.contentTooLarge)
        }
        guard let value = try? JSONValue(parsing: String(buffer: body)) else { return Self.answer(.badRequest) }
        let answer = await handler(value)
        let type = answer.content.isEmpty ? nil : "application/json"
        return Self.answer(answer.status, answer.content, type, retryAfter: answer.retryAfter)
    }

    private static func answer(
        _ status: HTTPResponse.Status,
        _ content: [UInt8] = [],
        _ type: String? = nil,
        retryAfter: String? = nil
    ) -> Response {
        // The page changes with the program, so a browser must not cache it.
        var headers: HTTPFields = [.cacheControl: "no-store", .xContentTypeOptions: "nosniff"]
        if let type { headers[.contentType] = type }
        headers[.retryAfter] = retryAfter ?? (status == .serviceUnavailable ? "30" : nil)
        return Response(status: status, headers: headers, body: .init(byteBuffer: ByteBuffer(bytes: content)))
    }
}
