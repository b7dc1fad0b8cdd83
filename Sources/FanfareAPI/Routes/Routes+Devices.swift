internal import FanfareCore
internal import FanfareHTTP
internal import FanfareRecords
internal import FanfareTools
internal import HTTPTypes

extension Routes {
    /// The routes of an app's devices and their subscriptions.
    ///
    /// Tokens are accepted in bodies only, which proxies do not log, and are never returned.
    static let devices: [Route] = [
        Route(.put, "/v1/apps/{app}/devices", .registrar, forPhones: true) { call in
            let (registration, topics) = try DeviceRegistration.read(call)
            return Answer(
                try await call.noted { database in
                    let id = try await register(registration, topics, database, call)
                    return [
                        "id": .string("\(id)"), "report_key": JSONValue(orNull: try await database.reportKey(of: id)),
                    ]
                }
            )
        },
        Route(.post, "/v1/apps/{app}/devices/unregister", .registrar, forPhones: true) { call in
            var fields = try call.fields()
            let (provider, token) = (try fields.text("provider"), try fields.text("token"))
            try fields.end()
            let isDisabled = try await call.database.unregister(
                app: call.name("app"),
                provider: provider,
                token: token,
                ofUser: call.phone?.id
            )
            return Answer(["disabled": .bool(isDisabled)])
        },
        Route(.post, "/v1/apps/{app}/devices/restore", .operator) { call in
            let (request, isDryRun) = try RestoreRequest.read(call)
            let restored = try await call.database.restore(request, isDryRun: isDryRun)
            var reasons = JSONObject()
            for row in restored { reasons[row.reason] = JSONValue(row.devices) }
            return Answer([
                "devices": JSONValue(restored.reduce(0) { $0 + $1.devices }), "reasons": .object(reasons),
                "dry_run": .bool(isDryRun),
            ])
        },
        Route(.get, "/v1/apps/{app}/devices", .reader, forPhones: true) { call in
            try call.phone?.check(isAbout: call.query["user_id"])
            let filters = ["user_id", "provider", "topic", "disabled"]
            let page = try await Page(call, numbers: 1, filters: filters)
            var filter = DeviceFilter()
            (filter.app, filter.user) = (call.name("app"), call.phone?.id ?? call.query["user_id"])
            (filter.provider, filter.topic) = (call.query["provider"], call.query["topic"])
            (filter.isDisabled, filter.before) = (try call.flag("disabled"), page.after?.first)
            filter.limit = page.limit + 1
            let rows = try await call.database.devices(filter)
            return try await page.answer(rows, place: { [$0.id] }, json: { $0.shown(to: call.phone) })
        },
        Route(.get, "/v1/apps/{app}/devices/{id}", .reader, forPhones: true) { call in
            try await checkIsOwn(call)
            return Answer(try await call.database.device(call.id("id"), of: call.name("app")).shown(to: call.phone))
        },
        Route(.delete, "/v1/apps/{app}/devices/{id}", .registrar, forPhones: true) { call in
            try await checkIsOwn(call)
            let isDisabled = try await call.database.unregister(device: call.id("id"), app: call.name("app"))
            return Answer(["disabled": .bool(isDisabled)])
        },
        Route(.put, "/v1/apps/{app}/devices/{id}/topics/{topic}", .registrar, forPhones: true) { call in
            try await subscribe([call.id("id")], call.name("topic"), true, call)
            return .nothing
        },
        Route(.delete, "/v1/apps/{app}/devices/{id}/topics/{topic}", .registrar, forPhones: true) { call in
            try await subscribe([call.id("id")], call.name("topic"), false, call)
            return .nothing
        },
        Route(.post, "/v1/apps/{app}/topics/{topic}/subscribe", .registrar) { call in
            Answer(["changed": JSONValue(try await subscribe(call, true))])
        },
        Route(.post, "/v1/apps/{app}/topics/{topic}/unsubscribe", .registrar) { call in
            Answer(["changed": JSONValue(try await subscribe(call, false))])
        },
    ]

    private static func register(
        _ registration: DeviceRegistration,
        _ topics: [String],
        _ database: ToolDatabase,
        _ call: Call
    ) async throws -> Int64 {
        for topic in topics { try call.phone?.check(mayFollow: topic) }
        guard let phone = call.phone else { return try await database.register(registration, topics: topics) }
        guard let id = try await database.registerOwn(phone.claim(registration), topics: topics) else {
            throw Problem(.forbidden, "/replaces: is another user's token", hint: "Leave it out.")
        }
        return id
    }

    private static func checkIsOwn(_ call: Call) async throws {
        if call.phone != nil { try await check([call.id("id")], call) }
    }

    /// Checks that devices belong to the app and, for a phone, to its user: topics belong to no app, but a token for
    /// one app must not change another app's devices.
    private static func check(_ ids: [Int64], _ call: Call) async throws {
        let others = try await call.database.devices(ids, notOf: call.name("app"), user: call.phone?.id)
        guard others.isEmpty else {
            let shown = others.prefix(5).map(String.init).joined(separator: ", ")
            throw Problem(.absent, "the app has no device \(shown)")
        }
    }

    private static func subscribe(_ call: Call, _ isSubscribed: Bool) async throws -> Int64 {
        var fields = try call.fields()
        let ids = try fields.ids("device_ids")
        try fields.end()
        guard (1...10_000).contains(ids.count) else {
            throw Fields.refusal("has \(ids.count) ids, not 1 to 10000", at: "/device_ids")
        }
        return try await subscribe(ids, call.name("topic"), isSubscribed, call)
    }

    @discardableResult
    private static func subscribe(
        _ ids: [Int64],
        _ topic: String,
        _ isSubscribed: Bool,
        _ call: Call
    ) async throws -> Int64 {
        try call.phone?.check(mayFollow: topic)
        try await check(ids, call)
        return try await call.database.setSubscribed(ids, to: topic, isSubscribed)
    }
}

extension DeviceRegistration {
    /// The largest number of topics in a registration.
    private static let topicLimit = 100

    /// Reads a device, and the topics that it subscribes to in addition to its own.
    fileprivate static func read(_ call: Call) throws -> (DeviceRegistration, topics: [String]) {
        var fields = try call.fields()
        var device = DeviceRegistration(
            app: call.name("app"),
            provider: try fields.text("provider"),
            token: try fields.text("token")
        )
        device.userID = try fields.text(orNil: "user_id")
        if let kind = try fields.text(orNil: "kind") { device.kind = kind }
        if let environment = try fields.text(orNil: "environment") { device.environment = environment }
        device.locale = try fields.text(orNil: "locale")
        device.timeZone = try fields.text(orNil: "time_zone")
        device.attributes = try fields.object(orNil: "attributes")
        device.p256dh = try fields.text(orNil: "p256dh")
        device.auth = try fields.text(orNil: "auth")
        device.replaces = try fields.text(orNil: "replaces")
        device.address = try fields.text(orNil: "address")
        device.permission = try fields.word(orNil: "permission", of: PermissionFilter.said.map(\.rawValue))
        device.presents = try fields.words(orNil: "presents", of: Presentation.allCases.map(\.rawValue))
        let topics = try fields.texts(orNil: "topics") ?? []
        guard topics.count <= topicLimit else {
            throw Fields.refusal("has \(topics.count) topics, at most \(topicLimit) are allowed", at: "/topics")
        }
        try fields.end()
        return (device, topics)
    }
}

extension RestoreRequest {
    fileprivate static func read(_ call: Call) throws -> (RestoreRequest, isDryRun: Bool) {
        var fields = try call.fields()
        let request = RestoreRequest(
            app: call.name("app"),
            since: Since(try fields.time("since")),
            reason: try fields.text(orNil: "reason"),
            environment: try fields.text(orNil: "environment")
        )
        let isDryRun = try fields.bool(orNil: "dry_run") ?? false
        try fields.end()
        return (request, isDryRun)
    }
}

extension RegisteredDevice {
    /// Returns the device as lists and responses show it, with its id as text.
    ///
    /// Attributes that the backend stores are not shown to phones.
    fileprivate func shown(to phone: PhoneUser?) -> JSONValue {
        var object = JSONObject()
        object["id"] = .string("\(id)")
        for member in json.objectValue?.members ?? [] where member.key != "device_id" {
            object[member.key] = phone != nil && member.key == "attributes" ? .null : member.value
        }
        return .object(object)
    }
}
