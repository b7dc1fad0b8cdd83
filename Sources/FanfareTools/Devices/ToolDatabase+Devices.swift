public import FanfareCore
internal import FanfareProviders
public import FanfareRecords
internal import PostgresClient

extension ToolDatabase {
    /// The limit of enabled devices per user for registrations by phones, because each push goes to all of them.
    static let devicesOfUser: Int32 = 50

    /// Registers a token, or renews its registration.
    ///
    /// - Parameters:
    ///   - registration: the device's properties.
    ///   - topics: topics to subscribe it to, besides its present ones.
    /// - Returns: the device's id.
    /// - Throws: ``ToolError``; of kind `usage` for an unknown provider.
    public func register(
        _ registration: DeviceRegistration,
        topics: [String] = []
    ) async throws(ToolError) -> Int64 {
        try await register(registration, topics, owner: nil, limit: nil) ?? 0
    }

    /// Registers a token for its user only, or renews its registration.
    ///
    /// The token moves to this user, even if another user had it. A token that it replaces must belong to this user
    /// already. If the user has more than ``devicesOfUser`` enabled devices, the one registered longest ago is
    /// disabled.
    ///
    /// - Parameters:
    ///   - registration: the device's properties, including its user.
    ///   - topics: topics to subscribe it to, besides its present ones.
    /// - Returns: the device's id; nil if the token to replace belongs to another user: nothing has changed then.
    /// - Throws: ``ToolError``; of kind `usage` for an unknown provider.
    public func registerOwn(
        _ registration: DeviceRegistration,
        topics: [String] = []
    ) async throws(ToolError) -> Int64? {
        let owner = registration.replaces.map { SQL.deviceOwner(registration.app, registration.provider, $0) }
        let limit = registration.userID.map { SQL.limitDevices(registration.app, $0, Self.devicesOfUser) }
        return try await register(registration, topics, owner: owner, limit: limit)
    }

    /// Registers a token; if `owner` finds another user than the registration's, nothing changes.
    private func register(
        _ registration: DeviceRegistration,
        _ topics: [String],
        owner: StatementCall<String?>?,
        limit: StatementCall<Void>?
    ) async throws(ToolError) -> Int64? {
        try Self.check(provider: registration.provider)
        try Self.check(registration)
        return try await transaction { transaction throws(PostgresError) -> Int64? in
            if let owner, let found = try transaction.connection.run(owner).first.flatMap(\.self) {
                guard found.utf8.elementsEqual((registration.userID ?? "").utf8) else { return nil }
            }
            let id = try transaction.asCaller { connection throws(PostgresError) -> Int64? in
                guard let id = try connection.run(SQL.registerDevice(registration)).first else { return nil }
                for topic in topics { _ = try connection.run(SQL.subscribeDevices([id], topic)) }
                return id
            }
            if let limit { try transaction.connection.run(limit) }
            try transaction.audit(id.map { ToolAction("device.register", "\(registration.app)/\($0)") })
            return id
        }
    }

    /// Disables the device that holds a token.
    ///
    /// - Parameters:
    ///   - app: the app.
    ///   - provider: a provider's name, such as `apns`.
    ///   - token: the token.
    ///   - user: the only user whose device may be disabled; nil for any.
    /// - Returns: whether an enabled device was disabled.
    /// - Throws: ``ToolError``; of kind `usage` for an unknown provider.
    public func unregister(
        app: String,
        provider: String,
        token: String,
        ofUser user: String? = nil
    ) async throws(ToolError) -> Bool {
        try Self.check(provider: provider)
        let statement = SQL.unregisterDevice(app, provider, token)
        let owner = SQL.deviceOwner(app, provider, token)
        return try await transaction { transaction throws(PostgresError) in
            if let user {
                let found = try transaction.connection.run(owner).first.flatMap(\.self)
                guard found?.utf8.elementsEqual(user.utf8) == true else { return false }
            }
            let isDisabled = try transaction.asCaller { connection throws(PostgresError) in
                try connection.run(statement).first ?? false
            }
            try transaction.audit(ToolAction("device.unregister", app, count: isDisabled ? 1 : 0))
            return isDisabled
        }
    }

    /// Disables a device.
    ///
    /// - Parameters:
    ///   - id: its id.
    ///   - app: its app.
    /// - Returns: whether it was enabled.
    /// - Throws: ``ToolError``, also if the app has no such device.
    public func unregister(device id: Int64, app: String) async throws(ToolError) -> Bool {
        let statement = SQL.unregisterDeviceByID(app, id)
        let isDisabled = try await change { connection throws(PostgresError) in
            try connection.run(statement).first ?? false
        } action: {
            ToolAction("device.unregister", "\(app)/\(id)", count: $0 ? 1 : 0)
        }
        if !isDisabled {
            // A role that registers devices may not read them, but may learn that this device does not exist.
            _ = try await asProgram.device(id, of: app)
        }
        return isDisabled
    }

    /// Lists devices, the newest first.
    ///
    /// - Parameter filter: selects the devices.
    /// - Returns: the devices, without their topics.
    /// - Throws: ``ToolError``; of kind `usage` for an unknown provider.
    public func devices(_ filter: DeviceFilter) async throws(ToolError) -> [RegisteredDevice] {
        if let provider = filter.provider { try Self.check(provider: provider) }
        return try await run { connection throws(PostgresError) in
            filter.topic != nil && filter.user == nil
                ? try connection.run(SQL.listSubscribers(filter)) : try connection.run(SQL.listDevices(filter))
        }
    }

    /// Returns the locale of a user's newest enabled device.
    ///
    /// - Parameters:
    ///   - user: the user's id.
    ///   - app: the app; nil for all.
    /// - Returns: nil if there is no such device, or it has no locale.
    /// - Throws: ``ToolError``.
    public func locale(of user: String, app: String?) async throws(ToolError) -> String? {
        var filter = DeviceFilter()
        (filter.user, filter.app, filter.isDisabled) = (user, app, false)
        return try await devices(filter).first?.locale
    }

    /// Looks up one device with its topics.
    ///
    /// - Parameter id: its id.
    /// - Returns: the device.
    /// - Throws: ``ToolError``, also if there is no such device.
    public func device(_ id: Int64) async throws(ToolError) -> RegisteredDevice {
        let found = try await rows(of: SQL.showDevice(id)).first
        guard let found else {
            throw ToolError(
                .failed,
                "there is no device \(id)",
                isAbsence: true,
                subject: .missingDevice
            )
        }
        return found
    }

    /// Looks up one device of an app with its topics.
    ///
    /// - Parameters:
    ///   - id: its id.
    ///   - app: the app.
    /// - Returns: the device.
    /// - Throws: ``ToolError``, also if the app has no such device.
    public func device(_ id: Int64, of app: String) async throws(ToolError) -> RegisteredDevice {
        let found = try await device(id)
        guard found.app == app else {
            throw ToolError(.failed, "there is no such device of this app", isAbsence: true)
        }
        return found
    }

    /// Subscribes devices to a topic, or ends their subscriptions.
    ///
    /// - Parameters:
    ///   - ids: the devices.
    ///   - topic: the topic's name.
    ///   - isSubscribed: whether the devices are to be subscribed.
    /// - Returns: the number of devices that changed.
    /// - Throws: ``ToolError``.
    public func setSubscribed(_ ids: [Int64], to topic: String, _ isSubscribed: Bool) async throws(ToolError) -> Int64 {
        try await change { connection throws(PostgresError) in
            isSubscribed
                ? try connection.run(SQL.subscribeDevices(ids, topic)).first ?? 0
                : try connection.run(SQL.unsubscribeDevices(ids, topic)).first ?? 0
        } action: {
            ToolAction(isSubscribed ? "topic.subscribe" : "topic.unsubscribe", topic, count: $0)
        }
    }
}

extension ToolDatabase {
    /// Refuses an unknown provider: a search for its devices finds none, which would look like a valid answer.
    package static func check(provider: String) throws(ToolError) {
        guard Providers.named(provider) == nil else { return }
        let known = Providers.names.map(\.rawValue)
        let near = NearestName.suggestion(for: provider, among: known).map { "Did you mean \($0)? " } ?? ""
        throw ToolError(
            .usage,
            "“\(provider.printable)” is not a provider",
            hint: "\(near)Use one of \(known.joined(separator: ", "))."
        )
    }

    /// Refuses a device that could never get a push, for errors that the database does not check; such a device would
    /// fail at its first push.
    private static func check(_ registration: DeviceRegistration) throws(ToolError) {
        let recipient = Recipient(
            token: registration.token,
            p256dh: registration.p256dh.flatMap { $0.isEmpty ? nil : $0 },
            auth: registration.auth
        )
        guard let fault = Providers.named(registration.provider)?.fault(of: recipient) else { return }
        throw ToolError(.failed, "\(fault.field.rawValue) \(fault.reason)", hint: fault.hint)
    }
}
