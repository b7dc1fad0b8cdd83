package import FanfareConfiguration
package import FanfareCore

/// All in which one provider differs from another: the rest of the program asks it, and never which provider it is.
///
/// Each has a folder beside this one, and stands in ``Providers/all``.
package protocol Provider: Sendable {
    /// What its block in the configuration holds; names the provider too.
    associatedtype Settings: ProviderSettings

    // MARK: Configuration

    /// Its keys, and which of them go together.
    var block: ConfigurationBlock { get }

    // MARK: Messages

    /// The kinds of tokens it has.
    var kinds: Set<DeviceKind> { get }

    /// Compiles what a rule sends there for one locale.
    ///
    /// - Parameters:
    ///   - parts: the message, and the locale's overlay if there is one.
    ///   - rule: the rule, for what stands beside the message.
    /// - Returns: nil if the message has nothing for it.
    /// - Throws: `RuleProblem` if it would refuse the message.
    func content(_ parts: [MessagePart], rule: RuleDefinition) throws(RuleProblem) -> (any ProviderContent)?

    /// What a message may have for it alone; nil where the fields of FCM's Message say all.
    var messageBlock: MessageBlock? { get }

    /// What a request has beside what the rule says, for people: `authorization is`.
    var addedHeaders: String { get }

    /// What is to be said of a body that is shown, such as ` before it is encrypted`; mostly empty.
    var bodyNote: String { get }

    /// Whether a push shows nothing and only wakes its app.
    ///
    /// - Parameter headers: of the rendered push.
    /// - Returns: false where nothing can be said.
    func isSilent(_ headers: [(name: String, value: String)]) -> Bool

    /// How many bytes of a request's body it takes at most.
    ///
    /// - Parameter headers: of the rendered push.
    /// - Returns: nil where it does not count the whole body.
    func bodyLimit(_ headers: [(name: String, value: String)]) -> Int?

    // MARK: Recipients

    /// Where a device is reached.
    ///
    /// - Parameters:
    ///   - recipient: the device.
    ///   - identity: what the app is called there.
    /// - Returns: nil if nothing can ever be sent to it; its deliveries end as ``invalidRecipient``.
    func address(of recipient: Recipient, as identity: ProviderIdentity) -> PushAddress?

    /// Checks a device before its registration for defects that the database cannot detect.
    ///
    /// - Parameter recipient: the device; a renewed registration may leave out its keys.
    /// - Returns: the defect; nil if the device has none.
    func fault(of recipient: Recipient) -> RecipientError?

    /// What becomes of a delivery whose device cannot be addressed; the device is disabled if that is a ``OutcomeKind/gone``.
    var invalidRecipient: Outcome { get }

    /// Where an audience is reached that the provider itself keeps.
    ///
    /// - Parameters:
    ///   - audience: which.
    ///   - identity: what the app is called there.
    /// - Returns: nil if it does not keep such audiences.
    func address(of audience: NativeTarget, as identity: ProviderIdentity) -> PushAddress?

    // MARK: Sending

    /// What became of pushes to it, as stored.
    var outcomes: OutcomeBlock { get }

    /// Reads an app's credentials and describes the pools that send with them.
    ///
    /// - Parameters:
    ///   - settings: the app's.
    ///   - app: its name.
    ///   - parts: what pools are made of.
    ///   - before: the app's senders in force, for what has to outlive a reload; nil if there are none.
    /// - Returns: a pool for each environment.
    /// - Throws: ``DaemonError`` for a file that cannot be used.
    func senders(
        _ settings: Settings,
        app: String,
        parts: SenderParts,
        before: ProviderSenders?
    ) throws(DaemonError) -> ProviderSenders

    /// How many file descriptors an app's senders can have open.
    ///
    /// - Parameter costs: what a pool has.
    /// - Returns: their number, at most.
    func descriptors(_ costs: DescriptorCosts) -> Int

    // MARK: Operation

    /// The credentials of an app, by what people call them.
    ///
    /// - Parameters:
    ///   - settings: the app's.
    ///   - checkup: whose, and what reads them.
    /// - Returns: one each; none where devices bring their own.
    func credentials(_ settings: Settings, _ checkup: CredentialCheckup) -> [ProviderCredential]

    /// Looks at the files that an app's credentials are in.
    ///
    /// - Parameters:
    ///   - settings: the app's.
    ///   - checkup: whose, and what reads them.
    /// - Returns: an item each.
    func checkup(_ settings: Settings, _ checkup: CredentialCheckup) -> [CheckItem]

    /// Asks the provider by requests that no device can get whether it takes an app's credentials.
    ///
    /// - Parameters:
    ///   - settings: the app's.
    ///   - checkup: whose, and what reads the files.
    /// - Returns: an item for each environment; none where a provider can be asked only about real devices.
    func probe(_ settings: Settings, _ checkup: CredentialCheckup) -> [CheckItem]
}

extension Provider {
    /// The provider's name, in configuration, SQL and logs.
    package var name: PushProvider { PushProvider(rawValue: Settings.name) }

    /// What people call it.
    package var title: String { block.title }

    package var kinds: Set<DeviceKind> { [.device] }
    package var messageBlock: MessageBlock? { nil }
    package var bodyNote: String { "" }
    package func isSilent(_ headers: [(name: String, value: String)]) -> Bool { false }
    package func bodyLimit(_ headers: [(name: String, value: String)]) -> Int? { nil }
    package func fault(of recipient: Recipient) -> RecipientError? { nil }
    package func address(of audience: NativeTarget, as identity: ProviderIdentity) -> PushAddress? { nil }
    package func probe(_ settings: Settings, _ checkup: CredentialCheckup) -> [CheckItem] { [] }

    /// Whether an app is configured for it.
    package func serves(_ app: Configuration.App?) -> Bool { app?[Settings.self] != nil }

    /// An app's senders, as ``senders(_:app:parts:before:)`` has them; nil if it is not configured for this provider.
    package func senders(
        of app: Configuration.App,
        named name: String,
        parts: SenderParts,
        before: ProviderSenders?
    ) throws(DaemonError) -> ProviderSenders? {
        guard let settings = app[Settings.self] else { return nil }
        return try senders(settings, app: name, parts: parts, before: before)
    }

    /// An app's credentials; see ``credentials(_:_:)``.
    package func credentials(of app: Configuration.App, _ context: CredentialCheckup) -> [ProviderCredential] {
        app[Settings.self].map { credentials($0, context) } ?? []
    }

    /// What the files of an app's credentials are like; see ``checkup(_:_:)``.
    package func checkup(of app: Configuration.App, _ context: CredentialCheckup) -> [CheckItem] {
        app[Settings.self].map { checkup($0, context) } ?? []
    }

    /// What the provider says of an app's credentials; see ``probe(_:_:)``.
    package func probe(of app: Configuration.App, _ context: CredentialCheckup) -> [CheckItem] {
        app[Settings.self].map { probe($0, context) } ?? []
    }
}
