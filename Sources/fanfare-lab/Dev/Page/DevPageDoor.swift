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
        default: return Self.answer(.notFound)
        }
    }

    private func handOn(
        _ request: Request,
        to handler: (JSONValue) async -> HTTPResponse.Status
    ) async -> Response {
        // Only a page of this origin can send this type: other origins need a preflight, which fails without CORS
        // headers.
        guard request.headers[.contentType]?.hasPrefix("application/json") == true else {
            return Self.answer(.unsupportedMediaType)
        }
        guard let body = try? await request.body.collect(upTo: Self.bodyLimit) else {
            return Self.answer(.contentTooLarge)
        }
        guard let value = try? JSONValue(parsing: String(buffer: body)) else { return Self.answer(.badRequest) }
        return Self.answer(await handler(value))
    }

    private static func answer(
        _ status: HTTPResponse.Status,
        _ content: [UInt8] = [],
        _ type: String? = nil
    ) -> Response {
        // The page changes with the program, so a browser must not cache it.
        var headers: HTTPFields = [.cacheControl: "no-store", .xContentTypeOptions: "nosniff"]
        if let type { headers[.contentType] = type }
        if status == .serviceUnavailable { headers[.retryAfter] = "30" }
        return Response(status: status, headers: headers, body: .init(byteBuffer: ByteBuffer(bytes: content)))
    }
}
