import Foundation
import SandboxCrypto

/// The receivers of webhooks (Standard Webhooks 1.0.0): every path below `/hooks/` is one.
struct WebhookSimulator: ProviderSimulator {
    /// The prefix of all paths.
    static let prefix = "/hooks/"

    let name = SimulatedService.webhook
    let streamLimit: Int
    let opensNarrow = false
    let secrets: WebhookSecrets

    func serves(_ head: RequestHead) -> Bool { head.path.hasPrefix(Self.prefix) }

    func target(of head: RequestHead) -> String { head.path }

    func makeSession(for client: TLSClient) -> any ProviderSession {
        WebhookSession(secrets: secrets)
    }
}

/// A receiver's side of one connection, which has no state.
final class WebhookSession: ProviderSession {
    /// The largest difference between the request's time and the receiver's, in seconds, as in the standard's
    /// libraries.
    static let tolerance: Int64 = 300

    private let secrets: WebhookSecrets

    init(secrets: WebhookSecrets) {
        self.secrets = secrets
    }

    func judge(_ request: PushRequest) -> Judgement {
        var judgement = Judgement(target: request.head.path, answer: ProviderAnswer(status: 204))
        judgement.identity = request.head.header("webhook-id")
        if let rejection = failure(request) {
            judgement.answer = Self.answer(rejection.status, rejection.rawValue)
        } else if let fault = Self.formFault(request.bytes) {
            // A receiver may accept any form: the standard's libraries check only the signature.
            judgement.problem = fault
        }
        return judgement
    }

    private func failure(_ request: PushRequest) -> WebhookRejection? {
        guard request.head.method == "POST" else { return .methodNotAllowed }
        guard let id = request.head.header("webhook-id"), let time = request.head.header("webhook-timestamp"),
            let signatures = request.head.header("webhook-signature")
        else { return .missingHeader }
        guard let seconds = Int64(time) else { return .badTimestamp }
        let now = request.unixMicroseconds / 1_000_000
        guard abs(now - seconds) <= Self.tolerance else { return .badTimestamp }
        let key = secrets.secret(at: request.head.path)
        let signed = Data("\(id).\(time).".utf8) + Data(request.bytes)
        let isSigned = signatures.split(separator: " ").contains { signature in
            guard signature.hasPrefix("v1,"), let code = Data(base64Encoded: String(signature.dropFirst(3))) else {
                return false
            }
            return Hashing.isCode(code, of: signed, key: key)
        }
        return isSigned ? nil : .badSignature
    }

    /// Returns what the body lacks of the standard's form, if anything.
    private static func formFault(_ body: [UInt8]) -> String? {
        guard let members = JSONParser.parse(body)?.members else { return "the body is not a JSON object" }
        guard members["type"]?.text?.isEmpty == false else { return "the body has no type" }
        guard let time = members["timestamp"]?.text, (try? Date(time, strategy: .iso8601)) != nil else {
            return "the body has no timestamp, as ISO 8601 writes it"
        }
        return members["data"]?.members == nil ? "the body has no data" : nil
    }

    func answer(_ fault: StatusFault, to judgement: Judgement, unixMicroseconds: Int64) -> ProviderAnswer {
        let status = fault.status ?? fault.reason.flatMap { WebhookRejection(rawValue: $0)?.status } ?? 500
        let answer =
            fault.body.map { ProviderAnswer.raw(status, reason: fault.reason, $0) } ?? Self.answer(status, fault.reason)
        return answer.adding(fault.headers)
    }

    private static func answer(_ status: Int, _ reason: String?) -> ProviderAnswer {
        guard status >= 400 else { return ProviderAnswer(status: status, reason: reason) }
        return .json(status, reason: reason, #"{"error":\#(JSONValue.quoted(reason ?? "refused"))}"#)
    }
}

/// The reasons why a receiver rejects a request; the ledger, counts and faults use these names.
enum WebhookRejection: String, CaseIterable, Sendable {
    case methodNotAllowed = "MethodNotAllowed"
    case missingHeader = "MissingHeader"
    case badTimestamp = "BadTimestamp"
    case badSignature = "BadSignature"
    case forbidden = "Forbidden"
    case notFound = "NotFound"
    case gone = "Gone"
    case payloadTooLarge = "PayloadTooLarge"
    case tooManyRequests = "TooManyRequests"
    case internalServerError = "InternalServerError"
    case serviceUnavailable = "ServiceUnavailable"

    /// The status of the reason.
    var status: Int {
        switch self {
        case .missingHeader: 400
        case .badTimestamp, .badSignature: 401
        case .forbidden: 403
        case .notFound: 404
        case .methodNotAllowed: 405
        case .gone: 410
        case .payloadTooLarge: 413
        case .tooManyRequests: 429
        case .internalServerError: 500
        case .serviceUnavailable: 503
        }
    }
}
