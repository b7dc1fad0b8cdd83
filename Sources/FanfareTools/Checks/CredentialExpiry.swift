public import FanfareConfiguration
public import FanfareCore
internal import FanfareProviders
internal import FanfareService
internal import Foundation
internal import PushCrypto

/// When a credential of an app, or the API's certificate, expires.
public struct CredentialExpiry: Sendable {
    /// The app; nil for the certificate of the API.
    public let app: String?
    /// The provider of the credential, such as `apns`; nil for the certificate of the API.
    public let provider: String?
    /// Which credential, such as `APNs certificate`.
    public let credential: String
    /// When it expires, in seconds since 1970; nil for credentials that hold until they are revoked.
    public let endsAt: Int64?
    /// Why it cannot be used now; nil if it can.
    public let problem: String?

    /// The credential as JSON.
    public var json: JSONValue {
        [
            "app": JSONValue(orNull: app), "credential": .string(credential),
            "ends_at": JSONValue(orNull: endsAt.map(Self.date)), "problem": JSONValue(orNull: problem),
        ]
    }

    /// Formats a time in seconds since 1970.
    package static func date(_ seconds: Int64) -> String {
        Date(timeIntervalSince1970: TimeInterval(seconds)).ISO8601Format()
    }
}

extension Configuration {
    /// Returns when the apps' credentials and the API's certificate expire, read from this machine's files; other
    /// daemons may use other files.
    ///
    /// - Parameters:
    ///   - environment: variables of the process, for `CREDENTIALS_DIRECTORY`.
    ///   - now: seconds since 1970.
    /// - Returns: one for each credential, by app; the API's certificate comes last.
    public func credentialExpiries(environment: [String: String], now: Int64) -> [CredentialExpiry] {
        appCredentials(environment: environment, now: now) + apiCertificate(environment: environment, now: now)
    }

    private func apiCertificate(environment: [String: String], now: Int64) -> [CredentialExpiry] {
        guard let certificate = APICertificate(api, environment: environment) else { return [] }
        let name = APICertificate.name
        do throws(ToolError) {
            let end = try certificate.end(at: now)
            return [CredentialExpiry(app: nil, provider: nil, credential: name, endsAt: end, problem: nil)]
        } catch {
            return [CredentialExpiry(app: nil, provider: nil, credential: name, endsAt: nil, problem: error.reason)]
        }
    }

    private func appCredentials(environment: [String: String], now: Int64) -> [CredentialExpiry] {
        let files = CredentialFiles(environment: environment)
        return apps.sorted { $0.key < $1.key }.flatMap { name, app in
            let checkup = CredentialCheckup(
                app: name,
                files: files,
                transports: ProviderTransports(send),
                now: now
            )
            let credentials = Providers.all.flatMap { provider in
                provider.credentials(of: app, checkup).map { (provider: provider.name.rawValue, credential: $0) }
            }
            return credentials.map { provider, credential in
                do throws(DaemonError) {
                    let end = try credential.end()
                    return CredentialExpiry(
                        app: name,
                        provider: provider,
                        credential: credential.name,
                        endsAt: end,
                        problem: nil
                    )
                } catch {
                    return CredentialExpiry(
                        app: name,
                        provider: provider,
                        credential: credential.name,
                        endsAt: nil,
                        problem: error.reason
                    )
                }
            }
        }
    }
}
