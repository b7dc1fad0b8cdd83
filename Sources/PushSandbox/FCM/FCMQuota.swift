import Threading

/// FCM's rate limits per project and per device, both refilled every minute; off by default.
final class FCMQuota: Sendable {
    private struct Window {
        var minute: Int64 = -1
        var used = 0

        /// Takes one message from the bucket; false if it is empty.
        mutating func take(_ limit: Int, minute now: Int64) -> Bool {
            if minute != now {
                self = Window(minute: now)
            }
            used += 1
            return used <= limit
        }
    }

    private struct State {
        var project = Window()
        var devices: [String: Window] = [:]
    }

    private let projectLimit: Int?
    private let deviceLimit: Int?
    private let state = Locked(State())

    /// Creates full buckets.
    ///
    /// - Parameters:
    ///   - project: messages per minute; nil for no limit.
    ///   - device: messages per minute and device; nil for no limit.
    init(project: Int?, device: Int?) {
        projectLimit = project
        deviceLimit = device
    }

    /// Counts a message against the project's limit; FCM counts rejected messages too.
    ///
    /// - Parameter now: the wall clock, in seconds since 1970.
    /// - Returns: the seconds to wait, or nil if the message is within the limit.
    func secondsToWaitForProject(now: Int64) -> Int64? {
        guard let projectLimit else { return nil }
        let hasRoom = state.withLock { $0.project.take(projectLimit, minute: now / 60) }
        return hasRoom ? nil : 60 - now % 60
    }

    /// Counts a message against a device's limit, and returns whether it is within it.
    func hasRoom(for device: String, now: Int64) -> Bool {
        guard let deviceLimit else { return true }
        return state.withLock { $0.devices[device, default: Window()].take(deviceLimit, minute: now / 60) }
    }
}
