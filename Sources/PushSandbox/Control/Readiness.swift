import Threading

/// The ports and files, which are known a moment after the control port is open.
final class Readiness: Sendable {
    private let value = Locked<SandboxReady?>(nil)

    func set(_ ready: SandboxReady) {
        value.withLock { $0 = ready }
    }

    var ready: SandboxReady? {
        value.withLock { $0 }
    }
}
