internal import FanfareConfiguration
public import FanfareProviders
internal import FanfareService
internal import Foundation
package import PostgresClient

/// Why a command did not do what it was asked: what is wrong, where, and how to fix it.
public struct ToolError: Error, Sendable, CustomStringConvertible {
    /// Whose fault it is; decides the exit code (sysexits.h).
    public enum Kind: Int32, Sendable, CaseIterable {
        /// It was tried and refused.
        case failed = 1
        /// The command line makes no sense.
        case usage = 64
        /// The database cannot be reached.
        case unavailable = 69
        /// The configuration, a key file, or a database that is not ours.
        case configuration = 78
    }

    /// Whose fault it is.
    public let kind: Kind
    /// What is wrong; may have several lines, one per problem.
    public let reason: String
    /// Where; nil if the reason says it.
    public let place: String?
    /// How to fix it; empty if there is nothing to add.
    public let hint: String
    /// Whether it is that what was asked for is not there.
    public let isAbsence: Bool
    /// What the database said, in its own words; nil if it was not that.
    package private(set) var cause: PostgresError?

    /// Describes an error.
    ///
    /// - Parameters:
    ///   - kind: whose fault it is.
    ///   - reason: what is wrong.
    ///   - place: where, if the reason does not say it.
    ///   - hint: how to fix it.
    ///   - isAbsence: whether it is that what was asked for is not there.
    public init(_ kind: Kind, _ reason: String, at place: String? = nil, hint: String = "", isAbsence: Bool = false) {
        self.kind = kind
        self.reason = reason
        self.place = place
        self.hint = hint
        self.isAbsence = isAbsence
    }

    /// Takes over any error that a command may meet.
    ///
    /// - Parameter error: one of ours, or of the system.
    public init(_ error: any Error) {
        switch error {
        case let error as ToolError: self = error
        case let error as DaemonError: self.init(daemon: error)
        case let error as ProbeProblem: self.init(.failed, error.reason, hint: error.hint)
        case let error as ConfigurationError: self.init(.configuration, error.description, hint: error.mend)
        case let error as RulesFileError: self.init(.failed, error.description)
        // Its description is a dump.
        case let error as CocoaError: self.init(.failed, error.localizedDescription)
        case let error as any CustomStringConvertible: self.init(.failed, error.description)
        default: self.init(.failed, error.localizedDescription)
        }
    }

    /// Takes over why a daemon does not start.
    ///
    /// - Parameters:
    ///   - error: the daemon's.
    ///   - place: where, if its reason does not say it.
    public init(daemon error: DaemonError, at place: String? = nil) {
        let kind: Kind =
            switch error.kind {
            case .configuration: .configuration
            case .unavailable: .unavailable
            }
        self.init(kind, error.reason, at: place, hint: error.hint)
    }

    /// The process's exit code.
    public var exitCode: Int32 { kind.rawValue }

    /// What, where and how to fix it, one after the other on lines of their own; holds no secret.
    public var description: String {
        var lines = [reason]
        if let place { lines.append("  where: \(place)") }
        if !hint.isEmpty { lines.append("  fix: \(hint)") }
        return lines.joined(separator: "\n")
    }
}

extension ToolError {
    /// Says what a database's refusal means for the command that met it.
    ///
    /// Whoever typed the command sees the server's message in full, since it quotes what he typed; DETAIL, which quotes
    /// rows, stays out.
    init(_ error: PostgresError, at place: String) {
        self.init(worded: error, at: place)
        cause = error
    }

    private init(worded error: PostgresError, at place: String) {
        let hint = Self.commands(in: error.hint ?? "")
        switch error.sqlState {
        case "42P01", "3F000", "42883":
            self.init(
                .configuration,
                "this database has no Fanfare schema, or one of another version",
                at: place,
                hint: "Run `fanfare migrate`."
            )
        case "P0002":
            self.init(.failed, error.message, hint: hint, isAbsence: true)
        case "42501":
            self.init(.configuration, error.message, at: place, hint: error.hint ?? Self.roles)
        case let state? where state.hasPrefix("22") || state.hasPrefix("23"):
            self.init(.failed, error.message, hint: hint)
        case let state? where !error.isTransient && !state.hasPrefix("28") && !state.hasPrefix("3D"):
            self.init(.failed, error.message, at: place, hint: hint)
        case nil where [.poolTimeout, .poolClosed].contains(error.code):
            self.init(.unavailable, error.message, at: place, hint: "Try again later: the server is overloaded.")
        case nil where [.cancelled, .transactionLeftOpen].contains(error.code):
            self.init(.failed, error.message, at: place, hint: error.hint ?? "")
        default:
            self.init(daemon: DaemonError(databaseError: error), at: place)
        }
    }

    /// A hint of the database for who typed a command: the functions that it names are commands there.
    private static func commands(in hint: String) -> String {
        hint.replacing(/\b([Cc])all fanfare\.(start|test|pause|resume|abort)_campaign\b(\([^)]*\))?/) { match in
            "\(match.1 == "C" ? "R" : "r")un `fanfare campaigns \(match.2)`"
        }
    }

    private static let roles =
        "GRANT the role that allows it: fanfare_emitter, fanfare_registrar, fanfare_author, fanfare_operator, "
        + "fanfare_reader or fanfare_daemon (all of it)."
}
