import Foundation

/// Everything that is specific to one provider: the rest of the sandbox calls this protocol, and never checks which
/// provider it is.
///
/// Each provider has a folder beside this one, and is listed in `SimulatedProviders.all`.
protocol SimulatedProvider: Sendable {
    /// The name of its block in a configuration, and of its provider in SQL.
    var name: String { get }

    /// Its services; the first is the one for pushes.
    var services: [SimulatedService] { get }

    /// Creates the services.
    ///
    /// - Parameter parts: the files and options that they need.
    /// - Returns: a simulator for each of `services`.
    /// - Throws: an error for files that cannot be used.
    func simulators(_ parts: SimulatorParts) throws -> [any ProviderSimulator]

    /// Returns its block of a configuration that pushes to this sandbox.
    ///
    /// - Parameter place: the sandbox's addresses.
    /// - Returns: the lines of YAML without the block's name and indentation.
    func configuration(_ place: SandboxPlace) -> [String]

    /// Returns the device of a name; the same name gives the same device while folder and port stay the same.
    ///
    /// - Parameters:
    ///   - name: the name: 1 to 60 letters, digits and hyphens.
    ///   - place: the sandbox's addresses.
    /// - Returns: the data that an app registers for pushes.
    func device(named name: String, _ place: SandboxPlace) -> SimulatedDevice?
}

/// The files and options that services need.
struct SimulatorParts {
    let options: SandboxOptions
    let folder: SandboxFolder
    let faults: FaultPlan
    /// The apps that registered at FCM.
    let installations: FCMInstallations
}

/// The addresses of a running sandbox.
struct SandboxPlace: Sendable {
    let options: SandboxOptions
    /// Scheme, host and port of the production environment.
    let origin: String
    /// Scheme, host and port of the sandbox environment.
    let sandboxOrigin: String
    /// The secret from which secrets of simulated devices are derived.
    let secret: Data

    init(_ options: SandboxOptions, ports: (production: Int, sandbox: Int), secret: Data) {
        self.options = options
        origin = SandboxReady.origin(port: ports.production)
        sandboxOrigin = SandboxReady.origin(port: ports.sandbox)
        self.secret = secret
    }

    /// Returns a YAML double-quoted scalar; JSON strings are a subset of those.
    static func quoted(_ text: String) -> String { JSONValue.quoted(text) }
}

/// A simulated device, in the form of `fanfare.register_device`.
public struct SimulatedDevice: Codable, Equatable, Sendable {
    /// The provider.
    public let provider: String
    /// The token, or the URL in its place.
    public let token: String
    /// The public key, for providers whose devices have one.
    public var p256dh: String?
    /// The secret, for providers whose devices have one.
    public var auth: String?
}
