internal import Foundation
internal import PushTransport

/// Sends a single request to a provider, over a connection of its own.
struct ProviderProbe {
    private static let patience = Duration.seconds(20)

    /// The item's name.
    let name: String
    let endpoint: Endpoint
    let transports: ProviderTransports

    /// Sends the request and waits for the answer, up to 20 s.
    ///
    /// - Parameters:
    ///   - request: a request that reaches no device.
    ///   - options: CA file and certificate; one connection is used.
    /// - Returns: the answer, or why there is none.
    /// - Throws: if the transport cannot be made.
    func answer(to request: PushRequest, options: TransportOptions) throws(TransportError) -> PushAnswer {
        var options = options
        options.connections = 1
        let transport = try transports.make(endpoint, options)
        let deadline = ContinuousClock.now + Self.patience
        transport.sendUntil = deadline
        _ = transport.submit([request])
        var answers: [PushAnswer] = []
        while answers.isEmpty, ContinuousClock.now < deadline {
            transport.poll(timeout: .milliseconds(200), into: &answers)
        }
        transport.close(into: &answers)
        return answers.first
            ?? PushAnswer(tag: request.tag, without: .ambiguous, cause: .deadline, detail: "no answer came")
    }

    /// Runs a probe; an error before the answer becomes its finding.
    func item(_ body: () throws -> CheckItem) -> CheckItem {
        do {
            return try body()
        } catch {
            let problem = ProbeProblem(error)
            return CheckItem(.fail, name, problem.reason, advice: problem.hint)
        }
    }

    /// Returns the finding for a missing answer.
    func unanswered(_ detail: String) -> CheckItem {
        let advice = "Is \(endpoint) reachable from here, and its certificate trusted?"
        return CheckItem(.fail, name, "no answer: \(detail)", advice: advice)
    }

    /// Returns the finding for an answer.
    func said(_ level: CheckItem.Level, _ status: UInt16, _ reason: String, _ advice: String) -> CheckItem {
        CheckItem(level, name, "\(endpoint) says \(status) \(reason)", advice: advice)
    }
}

/// Why a provider could not be reached, or its message in place of an answer.
package struct ProbeProblem: Error, CustomStringConvertible {
    /// The problem.
    package let reason: String
    /// How to fix the problem; empty if there is nothing to add.
    package let hint: String

    init(_ reason: String, hint: String = "") {
        (self.reason, self.hint) = (reason, hint)
    }

    /// Converts any error that a probe may meet.
    init(_ error: any Error) {
        switch error {
        case let error as ProbeProblem: self = error
        case let error as DaemonError: self.init(error.reason, hint: error.hint)
        // The description of a CocoaError is a debug dump.
        case let error as CocoaError: self.init(error.localizedDescription)
        default: self.init("\(error)")
        }
    }

    /// Reason and hint; holds no secret.
    package var description: String { hint.isEmpty ? reason : "\(reason). \(hint)" }
}
