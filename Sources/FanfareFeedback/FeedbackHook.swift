package import FanfareConfiguration
internal import FanfareCore
package import FanfareProviders
internal import Foundation
internal import HTTP2Client
internal import PushCrypto
package import PushTransport

/// A feedback hook with its address and secrets.
package struct FeedbackHook: Equatable, Sendable {
    /// The way in which feedback is delivered.
    package enum Way: Equatable, Sendable {
        case post(Receiver)
        /// By NOTIFY on a channel, to the sessions that listen at that moment.
        case notify(channel: String)
    }

    /// The address of requests and the secrets that sign them.
    package struct Receiver: Equatable, Sendable {
        package let url: HTTPSURL
        /// One or two secrets; each request carries a signature for each.
        package let secrets: [WebhookSecret]
        let destinations: DestinationPolicy
        let caFile: String?
        /// The SHA-256 digest of the CA file: if its content changes, the receiver counts as a different one.
        let caDigest: [UInt8]?
    }

    /// What is added to the number of a kind of reports to make its code in `fanfare.feedback_hooks`.
    private static let reportCodes: Int16 = 1_000

    package let name: String
    package let way: Way
    /// The outcome codes, and the codes of reports, that the hook receives.
    package let codes: [Int16]
    package let app: String?

    /// Creates the hooks of a configuration, reading the files that it names.
    ///
    /// - Parameters:
    ///   - configured: the hooks by name.
    ///   - environment: the process environment, for `CREDENTIALS_DIRECTORY`.
    /// - Returns: the hooks, sorted by name.
    /// - Throws: `DaemonError` for a secret or CA file that is not usable.
    package static func read(
        _ configured: [String: Configuration.Feedback],
        environment: [String: String]
    ) throws(DaemonError) -> [FeedbackHook] {
        var hooks: [FeedbackHook] = []
        for (name, settings) in configured.sorted(by: { $0.key < $1.key }) {
            hooks.append(try FeedbackHook(name, settings, PasswordFile(environment: environment)))
        }
        return hooks
    }

    private init(_ name: String, _ settings: Configuration.Feedback, _ files: PasswordFile) throws(DaemonError) {
        self.name = name
        app = settings.app
        let outcomes = (UInt8.min...UInt8.max).filter { settings.outcomes.contains(Outcome(rawValue: $0).kind) }
        codes = outcomes.map(Int16.init) + settings.reports.map { Self.reportCodes + ($0 == .opened ? 2 : 3) }
        guard let url = settings.url, let secretFile = settings.secretFile else {
            way = .notify(channel: settings.channel ?? "fanfare_feedback")
            return
        }
        let secrets = try Self.secrets(in: secretFile, key: "feedback.\(name).secret_file", files)
        let hint = "Look at feedback.\(name)."
        do throws(DestinationPolicyError) {
            let destinations = try DestinationPolicy(hosts: [url.origin.authority], networks: settings.allowedNetworks)
            let digest = settings.caFile.flatMap { FileManager.default.contents(atPath: $0) }.map { sha256(Array($0)) }
            way = .post(
                Receiver(
                    url: url,
                    secrets: secrets,
                    destinations: destinations,
                    caFile: settings.caFile,
                    caDigest: digest
                )
            )
        } catch {
            throw DaemonError(.configuration, "feedback.\(name): \(error)", hint: hint)
        }
        do throws(TransportError) {
            if case .post(let receiver) = way { _ = try MultiOriginClient(options: receiver.options) }
        } catch {
            throw DaemonError(.configuration, "feedback.\(name).ca_file: \(error)", hint: hint)
        }
    }

    private static func secrets(
        in path: String,
        key: String,
        _ files: PasswordFile
    ) throws(DaemonError) -> [WebhookSecret] {
        let bytes: [UInt8]
        do throws(ConfigurationError) {
            bytes = try files.bytes(at: path, for: key)
        } catch {
            throw DaemonError(.configuration, "\(error)", hint: error.mend)
        }
        let lines = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline)
        let secrets = lines.compactMap { WebhookSecret(String($0)) }
        guard secrets.count == lines.count, (1...2).contains(secrets.count) else {
            throw DaemonError(
                .configuration,
                "\(key): \(path) holds no signing secret, or something else besides",
                hint:
                    "It holds whsec_ and 24 to 64 bytes in base64 (echo whsec_$(openssl rand -base64 32)), on one line, or two."
            )
        }
        return secrets
    }
}

extension FeedbackHook.Receiver {
    /// The transport options: one connection and one request at a time.
    var options: MultiOriginOptions {
        var options = MultiOriginOptions(destinations: destinations)
        options.transport.caFile = caFile
        options.transport.connections = 1
        options.transport.answerHeaders = ["retry-after"]
        options.connections = 1
        options.requests = 1
        return options
    }
}
