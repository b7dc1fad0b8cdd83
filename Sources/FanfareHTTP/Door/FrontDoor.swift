internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareDaemon
internal import FanfareLogging
internal import FanfareTools
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import Logging
internal import NIOCore

/// Responds to every request: finds its route, checks the token, reads the body up to the limit, and reports errors.
struct FrontDoor: HTTPResponder {
    typealias Context = ConnectionContext

    let context: ServerContext
    private let site: Site
    private let routes: RouteTable

    /// Creates a responder for a site.
    init(_ context: ServerContext, _ site: Site) {
        (self.context, self.site, routes) = (context, site, RouteTable(site.routes))
    }

    func respond(to request: Request, context: Context) async -> Response {
        let requestID = Self.newRequestID()
        let crossOrigin = CrossOrigin(request, self.context.daemon.configuration().api.origins) {
            routes.methodsForPhones(at: path(of: request))
        }
        var answer: Answer
        do {
            answer = try await self.answer(to: request, crossOrigin, context.channel, requestID)
        } catch {
            let problem = Problem(error)
            if problem.code == .failed { log(error, problem, request, requestID) }
            answer = problem.answer(requestID: requestID)
        }
        answer.headers[.requestID] = requestID
        crossOrigin.allow(&answer)
        return answer.response
    }

    private func answer(
        to request: Request,
        _ crossOrigin: CrossOrigin,
        _ channel: any Channel,
        _ requestID: String
    ) async throws -> Answer {
        try checkHost(request)
        if let answer = crossOrigin.preflight { return answer }
        // Monitors send HEAD to paths without a token, such as health.
        let isHead = request.method == .head
        switch routes.match(isHead ? .get : request.method, path(of: request)) {
        case .unknown: return try await site.unknown(call(to: request, nil, channel, [:], requestID))
        case .otherMethods(let methods): throw Self.otherMethods(methods)
        case .found(let route, _) where isHead && route.scope != nil: throw Self.otherMethods([route.method])
        case .found(let route, let names):
            // The token is checked before the body is read, so that unauthenticated clients cannot make the server read
            // one.
            let asker = try await asker(for: route, names, request)
            if let asker, asker.reportKey == nil { context.connections.trust(channel) }
            var call = call(to: request, (asker, route.scope), channel, names, requestID)
            if route.takesBody { call.body = try await body(of: request, for: route, call) }
            let answer = try await route.handle(call)
            return isHead ? answer.head : answer
        }
    }

    /// Returns the path without the base path, which some proxies forward and others strip.
    private func path(of request: Request) -> String {
        let (path, base) = (request.uri.path, context.basePath)
        guard !base.isEmpty, path == base || path.hasPrefix(base + "/") else { return path }
        return path == base ? "/" : String(path.dropFirst(base.count))
    }

    /// Combines a request with its token.
    private func call(
        to request: Request,
        _ asker: (Asker?, scope: TokenScope?)?,
        _ channel: any Channel,
        _ names: [String: String],
        _ requestID: String
    ) -> Call {
        let caller = asker.flatMap { $0.0?.caller(scope: $0.scope, requestID) }
        return Call(
            context: context,
            database: caller.map(context.database.acting) ?? context.database,
            phone: asker?.0?.phone,
            reportKey: asker?.0?.reportKey,
            tokenID: asker?.0?.tokenID,
            channel: channel,
            method: request.method,
            requestID: requestID,
            names: names,
            query: Call.values(in: request.uri.query ?? ""),
            headers: request.headers,
            body: [],
            path: path(of: request),
            authority: request.head.authority
        )
    }

    private static func otherMethods(_ methods: [HTTPRequest.Method]) -> Problem {
        let names = methods.map(\.rawValue).joined(separator: ", ")
        var problem = Problem(.methodNotAllowed, "method not allowed; this path has \(names)")
        problem.headers[.allow] = names
        return problem
    }

    /// Refuses other host names on loopback, since a page whose name resolves to loopback (DNS rebinding) sends its own
    /// name.
    private func checkHost(_ request: Request) throws {
        guard context.isLoopback, let authority = request.head.authority else { return }
        let hasPort = authority.contains(":") && !authority.hasSuffix("]")
        guard ListenAddress(tcp: hasPort ? authority : "\(authority):80")?.isLocal == true else {
            throw Problem(
                .misdirected,
                "the request names another host, and this listener accepts local requests only",
                hint: "Use http://127.0.0.1 or http://localhost, or have the proxy in front set the Host header so."
            )
        }
    }

    private func asker(for route: Route, _ names: [String: String], _ request: Request) async throws -> Asker? {
        guard let scope = route.scope else { return nil }
        do {
            return try await context.authority.asker(
                for: scope,
                app: names["app"],
                isForPhones: route.isForPhones,
                isForReports: route.isForReports,
                request.headers
            )
        } catch {
            let problem = Problem(error)
            throw problem.code == .unavailable ? problem.untouched : error
        }
    }

    /// Reads the body of a request up to the route's limit.
    private func body(of request: Request, for route: Route, _ call: Call) async throws -> [UInt8] {
        let limit = await route.bodyLimit(call)
        guard limit > 0 else { return [] }
        let problem = Problem(
            .tooLarge,
            "the body has more than \(limit) bytes",
            hint: "Split it into several requests."
        )
        // Checked before any of the body is read.
        if let length = request.headers[.contentLength].flatMap({ Int($0) }), length > limit { throw problem }
        call.channel?.triggerUserOutboundEvent(ConnectionWatch.BodyIsWanted(), promise: nil)
        do {
            return Array(try await request.body.collect(upTo: limit).readableBytesView)
        } catch is NIOTooManyBytesError {
            throw problem
        } catch is CancellationError {
            throw Problem.away("the daemon is shutting down")
        } catch {
            // The client disconnected, or its chunked encoding is invalid.
            throw Problem(.malformed, "the body is incomplete", hint: "Send it again.")
        }
    }

    private func log(_ error: any Error, _ problem: Problem, _ request: Request, _ requestID: String) {
        context.daemon.logger.error(
            "a request failed",
            metadata: .init([
                .requestID: "\(requestID)", .method: "\(request.method.rawValue)",
                .status: "\(problem.code.status.code)", .error: "\(error)",
            ])
        )
    }

    /// Returns an id that is not secret, but too long to be guessed by accident.
    private static func newRequestID() -> String {
        let digits = String(UInt64.random(in: 0 ... .max), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

/// The connection that a request arrived on.
struct ConnectionContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        (coreContext, channel) = (.init(source: source), source.channel)
    }
}
