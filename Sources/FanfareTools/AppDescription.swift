public import FanfareConfiguration
public import FanfareCore
internal import FanfareProviders
internal import PushCrypto

/// An app as the daemon that is asked has it in its configuration.
public struct AppDescription: Sendable {
    /// Its name.
    public let name: String
    /// The providers that it is sent to by, in alphabetical order.
    public let providers: [String]
    /// What a page passes to `PushManager.subscribe` as `applicationServerKey`: the public half of the VAPID key (RFC 8292
    /// section 3.2), base64url; nil without Web Push.
    public let webPushPublicKey: String?

    /// Looks an app up; reads its VAPID key where it has one.
    ///
    /// - Parameters:
    ///   - name: the app's.
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

    /// All of it.
    public var json: JSONValue {
        [
            "name": .string(name), "providers": .array(providers.map { .string($0) }),
            "webpush_public_key": JSONValue(orNull: webPushPublicKey),
        ]
    }
}
