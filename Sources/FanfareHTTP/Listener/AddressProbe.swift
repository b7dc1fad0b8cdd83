internal import FanfareConfiguration
internal import FanfareTools
internal import Foundation
internal import NIOCore
internal import NIOPosix

/// Checks that an address can be bound before the daemon starts its stages.
///
/// The server binds only when the services run, and a failure then would cancel stages that have already started. If
/// another program takes the address between the check and the bind, the daemon still ends.
enum AddressProbe {
    /// Binds an address and releases it.
    ///
    /// - Parameters:
    ///   - address: the address to bind.
    ///   - key: the setting that holds the address.
    /// - Throws: ``ToolError``, whose kind tells a busy address from one that cannot be used.
    static func check(_ address: ListenAddress, _ key: String = "api.listen") throws(ToolError) {
        do {
            let server = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            switch address {
            case .tcp(let host, let port): try server.bind(host: host, port: port).wait().close().wait()
            case .unix(let path):
                if isAnswered(path) { throw taken(address, key) }
                try server.bind(unixDomainSocketPath: path, cleanupExistingSocketFile: true).wait().close().wait()
                try? FileManager.default.removeItem(atPath: path)
            }
        } catch {
            throw self.error(error, at: address, key)
        }
    }

    /// Converts an error from binding.
    ///
    /// - Parameters:
    ///   - error: the error from binding.
    ///   - address: the address.
    ///   - key: the setting that holds the address.
    /// - Returns: the cause and how to fix it.
    static func error(_ error: any Error, at address: ListenAddress, _ key: String) -> ToolError {
        if let error = error as? ToolError { return error }
        guard let error = error as? IOError else { return refused(address, key, "\(error)") }
        switch error.errnoCode {
        case EADDRINUSE: return taken(address, key)
        case EACCES, EPERM: return refused(address, key, "permission denied")
        case EADDRNOTAVAIL: return refused(address, key, "this host has no such address")
        case ENOENT, ENOTDIR: return refused(address, key, "there is no such folder")
        default: return refused(address, key, "system error (errno \(error.errnoCode))")
        }
    }

    /// Whether a process accepts connections at a socket file; a stale file refuses them.
    private static func isAnswered(_ path: String) -> Bool {
        let client = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        guard let channel = try? client.connect(unixDomainSocketPath: path).wait() else { return false }
        channel.close(promise: nil)
        return true
    }

    private static func taken(_ address: ListenAddress, _ key: String) -> ToolError {
        ToolError(
            .unavailable,
            "\(key): \(address) is in use by another program",
            hint: "Is another daemon running on this host? Stop what listens there, or choose another address."
        )
    }

    private static func refused(_ address: ListenAddress, _ key: String, _ reason: String) -> ToolError {
        ToolError(.configuration, "\(key): cannot listen at \(address): \(reason)", hint: "Choose another address.")
    }
}
