import Threading

/// FCM's limits of rate, which are off unless asked for: project and device, both refilled every minute.
final class FCMQuota: Sendable {
    private struct Window {
        var minute: Int64 = -1
        var used = 0

        /// Takes one message out of the bucket; false if it is empty.
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

    /// Begins with full buckets.
    ///
    /// - Parameters:
    ///   - project: messages per minute; nil for any number.
    ///   - device: messages per minute and device; nil for any number.
    init(project: Int?, device: Int?) {
        projectLimit = project
        deviceLimit = device
    }

    /// Counts a message against the project; FCM counts refused ones too.
    ///
    /// - Parameter now: wall clock, in seconds since 1970.
    /// - Returns: seconds until there is room again, nil if there is.
    func secondsToWaitForProject(now: Int64) -> Int64? {
        guard let projectLimit else { return nil }
        let hasRoom = state.withLock { $0.project.take(projectLimit, minute: now / 60) }
        return hasRoom ? nil : 60 - now % 60
    }

    /// Whether a device's bucket has room for one more message, which is counted.
    func hasRoom(for device: String, now: Int64) -> Bool {
        guard let deviceLimit else { return true }
        return state.withLock { $0.devices[device, default: Window()].take(deviceLimit, minute: now / 60) }
    }
}
