import Foundation

/// All in which one provider's counterpart differs from another's: the rest of the sandbox asks it, and never which provider
/// it is.
///
/// Each has a folder beside this one, and stands in `SimulatedProviders.all`.
protocol SimulatedProvider: Sendable {
    /// What its block in a configuration is called, and its provider in SQL.
    var name: String { get }

    /// Its services, with that for pushes first.
    var services: [SimulatedService] { get }

    /// Makes its services.
    ///
    /// - Parameter parts: what they are made of.
    /// - Returns: one for each of `services`.
    /// - Throws: what the files of the folder are no good for.
    func simulators(_ parts: SimulatorParts) throws -> [any ProviderSimulator]

    /// Its block in a configuration that pushes to this sandbox.
    ///
    /// - Parameter place: where the sandbox is.
    /// - Returns: lines of YAML without the block's name and its indentation.
    func configuration(_ place: SandboxPlace) -> [String]

    /// A device of a name; the same name gives the same device for as long as folder and port stay.
    ///
    /// - Parameters:
    ///   - name: 1 to 60 letters, digits and hyphens.
    ///   - place: where the sandbox is.
    /// - Returns: what an app hands to whoever wants to push to it.
    func device(named name: String, _ place: SandboxPlace) -> SimulatedDevice?
}

/// What services are made of.
struct SimulatorParts {
    let options: SandboxOptions
    let folder: SandboxFolder
    let faults: FaultPlan
}

/// Where a sandbox that runs is.
struct SandboxPlace: Sendable {
    let options: SandboxOptions
    /// Scheme, host and port of the production environment.
    let origin: String
    /// The same of the sandbox environment.
    let sandboxOrigin: String
    /// What secrets of simulated devices are derived from.
    let secret: Data

    init(_ options: SandboxOptions, ports: (production: Int, sandbox: Int), secret: Data) {
        self.options = options
        origin = SandboxReady.origin(port: ports.production)
        sandboxOrigin = SandboxReady.origin(port: ports.sandbox)
        self.secret = secret
    }

    /// A YAML double-quoted scalar; JSON strings are a subset of those.
    static func quoted(_ text: String) -> String { JSONValue.quoted(text) }
}

/// A simulated device, as `fanfare.register_device` wants it.
public struct SimulatedDevice: Codable, Equatable, Sendable {
    /// The provider.
    public let provider: String
    /// Its token, or the URL that stands for one.
    public let token: String
    /// Its public key, where devices of the provider have one.
    public var p256dh: String?
    /// Its secret, where devices of the provider have one.
    public var auth: String?
}
