internal import FanfareCore
internal import FanfareHTTP
internal import FanfareStore
internal import FanfareTools
internal import HTTPTypes

extension Routes {
    /// The routes of an app's users: preferences, pushes, and erasure.
    static let users: [Route] = [
        Route(.delete, "/v1/apps/{app}/users/{user}", .registrar) { call in
            let devices = try await call.database.forget(user: call.name("user"), app: call.name("app"))
            return Answer(["devices": JSONValue(devices)])
        },
        Route(.get, "/v1/apps/{app}/users/{user}/preferences", .reader, forPhones: true) { call in
            try call.phone?.check(isAbout: call.name("user"))
            let said = try await call.database.preferences(of: call.name("user"), app: call.name("app"))
            return Answer(["data": .array(said.map(\.json))])
        },
        Route(.put, "/v1/apps/{app}/users/{user}/preferences/{category}", .registrar, forPhones: true) { call in
            try call.phone?.check(isAbout: call.name("user"))
            var fields = try call.fields()
            let isOptedOut = try fields.bool("opted_out")
            try fields.end()
            try await call.database.setPreference(
                call.name("category"),
                of: call.name("user"),
                app: call.name("app"),
                isOptedOut: isOptedOut
            )
            return .nothing
        },
        Route(.post, "/v1/apps/{app}/users/{user}/snooze", .registrar, forPhones: true) { call in
            try call.phone?.check(isAbout: call.name("user"))
            var fields = try call.fields()
            let category = try fields.text(orNil: "category") ?? "*"
            let until = try fields.time(orNil: "until")
            try fields.end()
            try await call.database.snooze(category, of: call.name("user"), app: call.name("app"), until: until)
            return .nothing
        },
        Route(.get, "/v1/apps/{app}/users/{user}/retracted", .reader, forPhones: true) { call in
            try call.phone?.check(isAbout: call.name("user"))
            if let unknown = call.query.keys.filter({ $0 != "since" }).min() {
                throw Problem(.malformed, "there is no filter “\(unknown)”", hint: "There is only since.")
            }
            let since = try call.query["since"].map { text in
                var fields = try Fields(["since": .string(text)], at: "?")
                return Since(try fields.time("since"))
            }
            let found = try await call.database.retracted(from: call.name("user"), app: call.name("app"), since: since)
            return Answer(["data": .array(found.map(\.json))])
        },
        Route(.get, "/v1/apps/{app}/users/{user}/deliveries", .reader) { call in
            let page = try await Page(call, numbers: ToolDatabase.placeOfPush)
            let found = try await call.database.pushes(
                ofUser: call.name("user"),
                app: call.name("app"),
                after: page.after,
                limit: Int(page.limit)
            )
            return try await page.answer(found.rows.map(\.json), next: found.next)
        },
    ]
}
