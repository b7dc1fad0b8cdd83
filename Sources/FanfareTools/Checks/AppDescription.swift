public import FanfareConfiguration
public import FanfareCore
internal import FanfareProviders
internal import PushCrypto

/// An app as configured on the daemon that answers.
public struct AppDescription: Sendable {
    /// Its name.
    public let name: String
    /// The providers that the app has credentials for, in alphabetical order.
    public let providers: [String]
    /// The public half of the VAPID key (RFC 8292 section 3.2), base64url: a page passes it to `PushManager.subscribe`
    /// as `applicationServerKey`; nil without Web Push.
    public let webPushPublicKey: String?

    /// Looks up an app and reads its VAPID key, if it has one.
    ///
    /// - Parameters:
    ///   - name: the app's name.
    ///   - configuration: the configuration in force.
    ///   - environment: variables of the process, for `CREDENTIALS_DIRECTORY`.
    /// - Throws: ``ToolError``: there is no such app, or its key cannot be read.
    public init(_ name: String, in configuration: Configuration, environment: [String: String]) throws(ToolError) {
        guard let app = configuration.apps[name] else {
            throw ToolError(
                .failed,
                "the configuration has no such app",
                hint: "Is it spelt as in the configuration? A device can be registered before its app is configured.",
                isAbsence: true
            )
        }
        self.name = name
        providers = app.providers.keys.sorted()
        do throws(DaemonError) {
            let files = CredentialFiles(environment: environment)
            if let webPush = app[WebPushSettings.self] {
                webPushPublicKey = try files.vapidKey(webPush, app: name).publicKey
            } else {
                webPushPublicKey = nil
            }
        } catch {
            throw ToolError(error)
        }
    }

    /// The description as JSON.
    public var json: JSONValue {
        [
            "name": .string(name), "providers": .array(providers.map { .string($0) }),
            "webpush_public_key": JSONValue(orNull: webPushPublicKey),
        ]
    }
}
