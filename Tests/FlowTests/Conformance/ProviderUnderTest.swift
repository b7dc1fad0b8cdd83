import PostgresClient
import TestKit
import Testing

@testable import DaemonKit

/// A provider in the conformance suite: its name, and how a fault matches one of its devices.
struct ProviderUnderTest: Hashable, Sendable, CustomTestStringConvertible {
    static let apns = ProviderUnderTest(rawValue: "apns")
    static let fcm = ProviderUnderTest(rawValue: "fcm")
    static let webpush = ProviderUnderTest(rawValue: "webpush")

    /// The providers that have a table.
    static let allCases = ConformanceTable.all.map(\.provider)

    let rawValue: String

    var testDescription: String { rawValue }

    /// Returns the simulated device of a case.
    func device(_ name: String, in flow: Flow) async throws -> SimulatedDevice {
        try await flow.sandbox.device(of: rawValue, named: name.replacing("_", with: "-"))
    }

    /// Returns a fault of the sandbox for one case's device.
    ///
    /// - Parameters:
    ///   - members: the fault's JSON members, without provider and match.
    ///   - device: the device of the case.
    func fault(_ members: String, for device: SimulatedDevice) -> String {
        if self == .fcm, members.contains(#""at": "headers""#) {
            // FCM's token is in the body, which the sandbox does not read in this case.
            return #"{"provider": "fcm", \#(members)}"#
        }
        return #"{"provider": "\#(rawValue)", "match": {"token": "^\#(device.target)$"}, \#(members)}"#
    }

    /// Registers the device of a case, for a user with the case's name.
    func register(_ name: String, in flow: Flow) async throws {
        let device = try await device(name, in: flow)
        try await flow.sql { try $0.register(device, user: name) }
    }
}

/// A provider's answer to one device's push, and the expected result.
struct ConformanceCase: Sendable, CustomTestStringConvertible {
    let provider: ProviderUnderTest
    let name: String
    /// The JSON members of a fault, without provider and match; empty for none.
    let fault: String
    /// Outcome and reason of each attempt, in order.
    let outcomes: [String]
    /// The reason why the sender is refused; nil if it is not.
    var refusal: String?

    var testDescription: String { "\(provider) \(name)" }

    /// Whether the device is disabled, which happens only if its token is gone.
    var isDisabled: Bool { outcomes.last?.hasPrefix("gone/") ?? false }

    /// Creates a case with a `status` fault for every attempt.
    ///
    /// - Parameters:
    ///   - name: the reason in the answer, unless `fault` has another.
    ///   - fault: the members beside `do`; nil for the reason alone.
    init(_ provider: ProviderUnderTest, _ name: String, _ fault: String? = nil, _ outcomes: String...) {
        self.provider = provider
        self.name = name
        self.fault = #""do": "status", \#(fault ?? #""reason": "\#(name)""#)"#
        self.outcomes = outcomes
    }

    /// Creates a case with any fault.
    init(_ provider: ProviderUnderTest, _ name: String, does fault: String, _ outcomes: [String]) {
        self.provider = provider
        self.name = name
        self.fault = fault
        self.outcomes = outcomes
    }
}

extension Flow {
    /// Sends each case's device a push, and compares the recorded outcomes with the expected ones.
    ///
    /// Attempts that were not sent are ignored: a daemon that gets no CPU for a second starts no request until it has
    /// read the cancellations, which is independent of the provider.
    ///
    /// - Parameters:
    ///   - cases: cases of one or more providers, with different names.
    ///   - message: the rule's member `message`; empty for a plain one.
    ///   - change: SQL that changes the registered devices; empty for none.
    func conform(to cases: [ConformanceCase], message: String = "", change: String = "") async throws {
        var faults: [String] = []
        for item in cases where !item.fault.isEmpty {
            faults.append(item.provider.fault(item.fault, for: try await item.provider.device(item.name, in: self)))
        }
        try await sandbox.setFaults("[\(faults.joined(separator: ","))]")
        for item in cases { try await item.provider.register(item.name, in: self) }
        try await sql { world in
            if !change.isEmpty { try world.connection.execute(change) }
            try world.rule("conformance", event: "conformance", to: #"{"users": "$.users"}"#, message)
            let users = cases.map { #""\#($0.name)""# }.joined(separator: ", ")
            try world.emit("conformance", #"{"users": [\#(users)]}"#)
        }
        let expected = cases.map { "('\($0.name)', '\($0.outcomes.joined(separator: " "))')" }.joined(separator: ", ")
        // Missing outcomes after the time limit are reported below.
        try? await until(
            """
            SELECT bool_and(e.outcomes = (SELECT string_agg(outcome || '/' || reason, ' ' ORDER BY attempt)
                    FROM fanfare.deliveries WHERE user_id = e.name AND reason <> 'not_sent'))
            FROM (VALUES \(expected)) AS e (name, outcomes)
            """,
            seconds: 90
        )
        try await sql { world in
            for item in cases {
                let outcomes = try world.connection.column(
                    """
                    SELECT outcome || '/' || reason FROM fanfare.deliveries
                    WHERE user_id = $1 AND reason <> 'not_sent' ORDER BY attempt
                    """,
                    item.name
                )
                #expect(outcomes == item.outcomes, "\(item.testDescription)")
                let disabled = try world.connection.number(
                    "SELECT count(*) FROM fanfare.devices WHERE user_id = $1 AND disabled_at IS NOT NULL",
                    item.name
                )
                #expect(disabled == (item.isDisabled ? 1 : 0), "\(item.testDescription): disabled")
            }
        }
    }
}
