internal import FanfareConfiguration
public import FanfareProviders
internal import FanfareService
internal import Foundation
package import PostgresClient

/// Why a command failed: the problem, its place, and how to fix it.
public struct ToolError: Error, Sendable, CustomStringConvertible {
    /// The kind of error; determines the exit code (sysexits.h).
    public enum Kind: Int32, Sendable, CaseIterable {
        /// The operation was tried and refused.
        case failed = 1
        /// The command line is invalid.
        case usage = 64
        /// The database cannot be reached.
        case unavailable = 69
        /// The configuration, a key file, or a database of another installation.
        case configuration = 78
    }

    /// What an error is about, if the command line has a flag or a command for it; only that program names them.
    public enum Subject: Sendable, Equatable {
        /// The input that the reason begins with.
        case input(Input)
        /// A device that does not exist.
        case missingDevice
        /// A campaign that does not exist.
        case missingCampaign
        /// A start that must be confirmed; whether its devices were counted.
        case unconfirmedStart(isCounted: Bool)
    }

    /// An input that is checked only here.
    public enum Input: String, Sendable, CaseIterable {
        /// The payload of an example event.
        case event
        /// The payload of a campaign's run.
        case payload
        /// A device's attributes.
        case attributes
        /// A time, or how long ago it was.
        case since

        /// The name in messages.
        package var name: String {
            switch self {
            case .event, .payload: "the payload"
            case .attributes, .since: rawValue
            }
        }
    }

    /// The kind of error.
    public let kind: Kind
    /// The problem; may have several lines, one per problem.
    public let reason: String
    /// The place; nil if the reason names it.
    public let place: String?
    /// How to fix the problem; empty if there is nothing to add.
    public let hint: String
    /// Whether the requested object does not exist.
    public let isAbsence: Bool
    /// What the error is about, if the command line has words of its own for it.
    public let subject: Subject?
    /// The database's error; nil for other errors.
    package private(set) var cause: PostgresError?

    /// Describes an error.
    ///
    /// - Parameters:
    ///   - kind: the kind of error.
    ///   - reason: the problem.
    ///   - place: the place, if the reason does not name it.
    ///   - hint: how to fix the problem.
    ///   - isAbsence: whether the requested object does not exist.
    ///   - subject: what the error is about, if the command line has words of its own for it.
    public init(
        _ kind: Kind,
        _ reason: String,
        at place: String? = nil,
        hint: String = "",
        isAbsence: Bool = false,
        subject: Subject? = nil
    ) {
        self.kind = kind
        self.reason = reason
        self.place = place
        self.hint = hint
        self.isAbsence = isAbsence
        self.subject = subject
    }

    /// Converts any error that a command may meet.
    ///
    /// - Parameter error: an error of Fanfare or of the system.
    public init(_ error: any Error) {
        switch error {
        case let error as ToolError: self = error
        case let error as DaemonError: self.init(daemon: error)
        case let error as ProbeProblem: self.init(.failed, error.reason, hint: error.hint)
        case let error as ConfigurationError: self.init(.configuration, error.description, hint: error.mend)
        case let error as RulesFileError: self.init(.failed, error.description)
        // The description of a CocoaError is a debug dump.
        case let error as CocoaError: self.init(.failed, error.localizedDescription)
        case let error as any CustomStringConvertible: self.init(.failed, error.description)
        default: self.init(.failed, error.localizedDescription)
        }
    }

    /// Converts the error of a daemon that does not start.
    ///
    /// - Parameters:
    ///   - error: the daemon's error.
    ///   - place: the place, if the reason does not name it.
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

    /// The reason, the place and the hint, on lines of their own; holds no secret.
    public var description: String {
        var lines = [reason]
        if let place { lines.append("  where: \(place)") }
        if !hint.isEmpty { lines.append("  fix: \(hint)") }
        return lines.joined(separator: "\n")
    }
}

extension ToolError {
    /// Converts a database error for the command that met it.
    ///
    /// The server's message is shown in full, because it quotes what the user typed; DETAIL, which quotes rows, is left
    /// out.
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

    /// Rewrites a hint of the database for the command line: function names become commands.
    private static func commands(in hint: String) -> String {
        hint.replacing(/\b([Cc])all fanfare\.(start|test|pause|resume|abort)_campaign\b(\([^)]*\))?/) { match in
            "\(match.1 == "C" ? "R" : "r")un `fanfare campaigns \(match.2)`"
        }
    }

    private static let roles =
        "GRANT the role that allows it: fanfare_emitter, fanfare_registrar, fanfare_author, fanfare_operator, "
        + "fanfare_reader or fanfare_daemon (all of it)."
}
