import Foundation
import SandboxCrypto

/// The simulation of webhooks: receivers that verify requests as the standard's own libraries do.
struct SimulatedWebhooks: SimulatedProvider {
    let name = "webhook"
    let services = [SimulatedService.webhook]

    func simulators(_ parts: SimulatorParts) throws -> [any ProviderSimulator] {
        [
            WebhookSimulator(
                streamLimit: parts.options.openStreamLimit,
                secrets: WebhookSecrets(secret: parts.folder.subscriberSecret)
            )
        ]
    }

    func configuration(_ place: SandboxPlace) -> [String] {
        [
            "allowed_hosts: [ \"localhost\" ]",
            "allowed_networks: [ \"127.0.0.1/32\", \"::1/128\" ]",
            "ca_file: ca.pem",
        ]
    }

    func device(named name: String, _ place: SandboxPlace) -> SimulatedDevice? {
        let path = WebhookSimulator.prefix + name
        return SimulatedDevice(
            provider: self.name,
            token: place.origin + path,
            auth: "whsec_" + WebhookSecrets(secret: place.secret).secret(at: path).base64EncodedString()
        )
    }
}

extension SimulatedService {
    /// The service for signed requests to registered URLs.
    static let webhook = SimulatedService(
        rawValue: "webhook",
        success: "the simulated webhook got a request",
        targetName: "url",
        tellingHeaders: ["webhook-id", "webhook-timestamp"],
        status: { WebhookRejection(rawValue: $0)?.status },
        shown: { body in
            let type = body?["type"]?.text.map { [$0] } ?? []
            return type + lines(of: body?["data"]?.members?["notification"]?.members)
        }
    )
}

/// The receivers' signing secrets, each derived from its path and a secret of the sandbox, so that none has to be
/// stored.
struct WebhookSecrets: Sendable {
    private let key: Data

    init(secret: Data) {
        key = secret
    }

    /// Returns the secret of the receiver at a path: 32 bytes.
    func secret(at path: String) -> Data {
        Data(Hashing.code(of: ("webhook " + path).utf8, key: key))
    }
}
