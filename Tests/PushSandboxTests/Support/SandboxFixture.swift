import Foundation
import Threading

@testable import PushSandbox

/// A wall clock that a test sets.
final class TestClock: Sendable {
    private let now = Locked<Int64>(1_790_000_000_000_000)

    var microseconds: Int64 { now.withLock { $0 } }
    var seconds: Int64 { microseconds / 1_000_000 }

    func advance(seconds: Int64) {
        now.withLock { $0 += seconds * 1_000_000 }
    }
}

/// A running sandbox in a folder of its own.
struct SandboxFixture {
    let sandbox: PushSandbox
    let clock: TestClock
    /// Signatures are random: if each request were signed, the client would soon have renewed its token too often.
    private let signed = Locked<[Int64: String]>([:])

    init(sandbox: PushSandbox, clock: TestClock) {
        self.sandbox = sandbox
        self.clock = clock
    }

    func credential() throws -> TestCredential {
        try TestCredential(folder: sandbox.ready.dir)
    }

    /// Opens a connection with headers that the sandbox accepts.
    func connect(
        sandboxEnvironment: Bool = false,
        certificate: ClientCertificate? = nil,
        first requests: [TestRequest] = []
    ) async throws -> PushClient {
        try await PushClient.connect(
            port: sandboxEnvironment ? sandbox.sandboxTLSPort : sandbox.tlsPort,
            caFile: sandbox.ready.caFile,
            certificate: certificate,
            first: requests
        )
    }

    func request(token: String = TestRequest.token, id: String? = nil) throws -> TestRequest {
        let now = clock.seconds
        let fresh = try credential().authorization(at: now)
        let authorization = signed.withLock { signed in
            signed[now] = signed[now] ?? fresh
            return signed[now]
        }
        return TestRequest(token: token, id: id, authorization: authorization)
    }

    func faults(_ json: String) throws {
        try sandbox.replaceFaults(Array(json.utf8))
    }
}

/// Runs `body` with a new sandbox and deletes its files afterwards.
func withSandbox(
    _ change: (inout SandboxOptions) -> Void = { _ in },
    _ body: (SandboxFixture) async throws -> Void
) async throws {
    try await withTemporaryFolder { folder in
        let clock = TestClock()
        var options = SandboxOptions(directory: folder)
        options.unixMicroseconds = { clock.microseconds }
        change(&options)
        try ServiceAccountKey.put(into: folder)
        let sandbox = try await PushSandbox.start(options)
        do {
            try await body(SandboxFixture(sandbox: sandbox, clock: clock))
        } catch {
            await sandbox.stop()
            throw error
        }
        await sandbox.stop()
    }
}

func withTemporaryFolder(_ body: (String) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("sandbox-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try await body(folder)
}
