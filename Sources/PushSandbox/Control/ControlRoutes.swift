import Foundation
import NIOCore
import NIOHTTP1

/// The control interface: plain HTTP/1.1 on loopback, for clients that `ControlAdmission` allows.
///
/// | request | answer |
/// |---|---|
/// | `GET /` | ports and files, as `SandboxReady` |
/// | `GET /received?after=N[&limit=M][&wait=SECONDS]` | JSON lines of `ReceivedPush` after the N-th. With `wait` it answers as soon as there is one, empty when the time is over |
/// | `GET /counts[?at_least=N&wait=SECONDS]` | `SandboxCounts`, with `wait` as soon as N requests were received |
/// | `GET /faults` | the faults in force |
/// | `POST /faults` | puts a list of faults in their place; 400 names index and field of a mistake |
/// | `DELETE /faults` | ends all faults |
/// | `POST /subscriptions` | JSON lines of simulated browser subscriptions, as `SubscriptionRequest` describes |
/// | `POST /installations` | simulated apps that register at FCM by their FID or by a token, as `InstallationRequest` describes |
/// | `GET /devices?name=NAME` | a list with a simulated device of each provider, as `register_device` wants it; the same name gives the same ones |
struct ControlRoutes: Sendable {
    let state: SandboxState
    let readiness: Readiness

    /// Responds to one request.
    func answer(_ request: ControlRequest) async -> ControlAnswer {
        do {
            switch (request.method, request.path) {
            case (.GET, "/"): return try .json(readiness.ready)
            case (.GET, "/counts"):
                try await wait(request, forReceived: request.integer("at_least"))
                return try .json(state.ledger.counts)
            case (.GET, "/received"): return try await received(request)
            case (.GET, "/faults"): return ControlAnswer(status: .ok, body: .bytes(state.faults.source))
            case (.POST, "/faults"):
                try state.replaceFaults(request.body)
                return ControlAnswer(status: .noContent)
            case (.DELETE, "/faults"):
                state.clearFaults()
                return ControlAnswer(status: .noContent)
            case (.POST, "/subscriptions"): return try subscriptions(request)
            case (.POST, "/installations"):
                let apps = try InstallationRequest(request.body)
                guard state.installations.register(apps.ids, as: apps.address) else {
                    return .failure(.conflict, "no more than \(FCMInstallations.most) installations are kept")
                }
                return ControlAnswer(status: .noContent)
            case (.GET, "/devices"):
                guard let ready = readiness.ready else { return Self.notYetReady }
                return try .json(state.devices(named: try request.text("name"), ready))
            case (_, "/"), (_, "/counts"), (_, "/received"), (_, "/faults"), (_, "/subscriptions"), (_, "/devices"),
                (_, "/installations"):
                return .failure(.methodNotAllowed, "\(request.path) does not take \(request.method.rawValue)")
            default:
                return .failure(
                    .notFound,
                    "nothing here; there are /, /received, /counts, /faults, /subscriptions, /installations and /devices"
                )
            }
        } catch let error as SandboxError {
            let status: HTTPResponseStatus =
                switch error.code {
                case .malformedFaults, .invalidOption: .badRequest
                case .noLedger: .conflict
                case .folder, .listen: .internalServerError
                }
            return .failure(status, error.description)
        } catch {
            return .failure(.internalServerError, "\(error)")
        }
    }

    private static var notYetReady: ControlAnswer { .failure(.serviceUnavailable, "not yet ready; ask again") }

    private func subscriptions(_ request: ControlRequest) throws(SandboxError) -> ControlAnswer {
        guard let ready = readiness.ready else { return Self.notYetReady }
        let wanted = try SubscriptionRequest(request.body)
        let maker = SubscriptionMaker(subscribers: Subscribers(secret: state.secret), origin: ready.origin)
        return ControlAnswer(
            status: .created,
            contentType: "application/jsonl",
            body: .bytes(try wanted.lines(maker))
        )
    }

    private func received(_ request: ControlRequest) async throws -> ControlAnswer {
        let after = try request.integer("after") ?? 0
        let limit = try request.integer("limit") ?? .max
        // Before the wait, so that a sink is rejected at once.
        _ = try state.ledger.extent(after: after)
        try await wait(request, forReceived: after + 1)
        return ControlAnswer(
            status: .ok,
            contentType: "application/jsonl",
            body: .lines(try state.ledger.extent(after: after), limit: limit)
        )
    }

    private func wait(_ request: ControlRequest, forReceived number: Int?) async throws {
        guard let number, let seconds = try request.seconds("wait") else { return }
        await state.ledger.wait(
            forReceived: number,
            atMost: .milliseconds(Int64(seconds * 1000))
        )
    }
}
