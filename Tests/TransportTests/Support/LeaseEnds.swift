import Glibc
import Programs
import PushTransport
import TestKit
import Testing

/// Submits the first request after the time to send has ended, and the others with a new limit.
func submitAcrossTheLease(
    _ requests: [PushRequest],
    by makeTransport: @escaping @Sendable () throws -> any PushTransport
) async throws -> [PushAnswer] {
    try await onThread("sender") {
        let client = try makeTransport()
        var answers: [PushAnswer] = []
        client.sendUntil = .now
        _ = client.submit(requests[..<1])
        while answers.isEmpty { client.poll(timeout: .seconds(5), into: &answers) }
        client.sendUntil = .now.advanced(by: .seconds(60))
        _ = client.submit(requests[1...])
        while answers.count < requests.count { client.poll(timeout: .seconds(5), into: &answers) }
        client.close(into: &answers)
        return answers
    }
}

/// Lets the time to send end for one poll, while a connection is opened for all requests but the last, and then sends
/// the last.
///
/// The peer is suspended until then; otherwise a slow thread could find the connection established.
func submitWhileConnecting(
    _ requests: [PushRequest],
    to peer: ProgramProcess,
    by makeTransport: @escaping @Sendable () throws -> any PushTransport
) async throws -> [PushAnswer] {
    let early = requests.count - 1
    return try await onThread("sender") {
        let client = try makeTransport()
        var answers: [PushAnswer] = []
        peer.pause()
        #expect(client.submit(requests[..<early]) == early)
        client.poll(timeout: .zero, into: &answers)
        client.sendUntil = .now
        client.poll(timeout: .zero, into: &answers)
        peer.signal(SIGCONT)
        #expect(answers.count == early && client.inFlight == 0)
        client.sendUntil = .now.advanced(by: .seconds(60))
        #expect(client.submit(requests[early...]) == 1)
        while answers.count < requests.count { client.poll(timeout: .seconds(5), into: &answers) }
        client.close(into: &answers)
        return answers
    }
}
