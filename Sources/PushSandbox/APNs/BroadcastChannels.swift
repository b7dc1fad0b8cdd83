import Foundation
import Threading

/// The broadcast channels of all apps in both environments.
///
/// Every well-formed channel id exists, as every device token does, with the policy that stores the latest message.
/// Only channels created here can have another policy, and only those deleted here do not exist.
final class BroadcastChannels: Sendable {
    /// The storage policy of messages for offline devices.
    enum Policy: Int64 {
        case noMessage = 0
        case mostRecentMessage = 1
    }

    /// An app in one environment.
    struct App: Hashable {
        let bundleID: String
        let environment: Environment
    }

    private struct Channels {
        var made: [String: Policy] = [:]
        var deleted: Set<String> = []
    }

    private static let mostPerApp = 10_000

    private let channels = Locked<[App: Channels]>([:])

    /// Returns whether a text can be a channel id: base64, of any length.
    static func isWellFormed(_ id: String) -> Bool {
        !id.isEmpty && Data(base64Encoded: id) != nil
    }

    /// Creates a channel.
    ///
    /// - Returns: the channel's id; nil if the app has reached its limit.
    func make(_ app: App, _ policy: Policy) -> String? {
        let id = Data((0..<16).map { _ in UInt8.random(in: 0...255) }).base64EncodedString()
        return channels.withLock { channels in
            guard channels[app]?.made.count ?? 0 < Self.mostPerApp else { return nil }
            channels[app, default: Channels()].made[id] = policy
            return id
        }
    }

    /// Returns the policy of a channel; nil if it was deleted.
    func policy(_ app: App, _ id: String) -> Policy? {
        channels.withLock { channels in
            guard let known = channels[app] else { return .mostRecentMessage }
            return known.deleted.contains(id) ? nil : known.made[id] ?? .mostRecentMessage
        }
    }

    /// Deletes a channel; its id stays unknown.
    func delete(_ app: App, _ id: String) {
        channels.withLock { channels in
            channels[app, default: Channels()].made[id] = nil
            channels[app, default: Channels()].deleted.insert(id)
        }
    }

    /// Returns the ids of the channels that were created here, sorted.
    func all(_ app: App) -> [String] {
        channels.withLock { $0[app]?.made.keys.sorted() ?? [] }
    }
}
