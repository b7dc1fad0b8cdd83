internal import FanfareCore
internal import FanfareProviders
internal import FanfareTools

/// Makes a registration from the columns of a row.
struct ImportRowReader: Sendable {
    /// The values for rows that give none.
    struct Defaults: Sendable {
        var provider: String?
        var environment: String?
        var registeredAt: String?
        var includesDisabled = false
        var isFirebase = false
    }

    let defaults: Defaults

    /// The values of the columns of one row.
    struct Values: Sendable {
        /// The texts, indexed by the field's number.
        private var texts: [String?]
        private var ranks: [Int]
        private(set) var columns: [String?]
        /// Whether the file has a column of tokens that are no FIDs; it may be empty in this row.
        private var hasTokenColumn = false
        var attributes = JSONObject()

        init() {
            let count = ImportField.allCases.count
            texts = Array(repeating: nil, count: count)
            ranks = Array(repeating: .max, count: count)
            columns = Array(repeating: nil, count: count)
        }

        /// Stores a column's text unless it is empty; if two columns give one field, the more trusted one wins.
        mutating func set(_ field: ImportField, _ cell: String, rank: Int, column: String) {
            if field == .token, !ImportRowReader.isFID(column) { hasTokenColumn = true }
            let text = ImportCell.text(cell)
            // A word for "nothing" in a field that identifies a device or its user is refused later instead of dropped;
            // \N is MySQL's null in every field.
            guard !text.isEmpty, text != "\\N", Self.identities.contains(field) || !NothingText.matches(text),
                rank < ranks[field.rawValue]
            else { return }
            texts[field.rawValue] = text
            ranks[field.rawValue] = rank
            columns[field.rawValue] = column
        }

        private static let identities: Set<ImportField> = [.token, .userID, .topics, .provider, .deviceType]

        subscript(field: ImportField) -> String? { texts[field.rawValue] }

        /// Whether the row has a FID in place of a token: apps have one without being registered at FCM.
        var hasOnlyFID: Bool {
            hasTokenColumn && ranks[ImportField.token.rawValue] > 0 && ImportRowReader.isFID(column(of: .token))
        }

        /// Returns the file's name of a field.
        func column(of field: ImportField) -> String { columns[field.rawValue] ?? field.name }

        func refusal(_ field: ImportField, _ reason: String) -> ImportRowError {
            ImportRowError(column: column(of: field), reason: reason)
        }
    }

    /// Reads a row.
    ///
    /// - Parameter values: the values of the row's columns.
    /// - Returns: a registration, or why there is none.
    func fate(of values: Values) -> ImportFate {
        do throws(ImportRowError) {
            for field in ImportField.allCases where values[field]?.utf8.contains(0) ?? false {
                throw values.refusal(field, "has the character U+0000")
            }
            let values = try withSubscription(values)
            guard let token = values[.token], !values.hasOnlyFID else { return .skipped("without a token") }
            var row = ImportRow()
            switch try provider(values, token) {
            case .foreign(let channel): return .skipped("of \(channel)")
            case .provider(let name): row["provider"] = name
            case .unknown: throw values.refusal(.provider, "the row says no provider: pass --provider, or map a column")
            }
            let ending = try ending(values)
            if ending != nil, !defaults.includesDisabled { return .skipped("disabled there") }
            if ending == nil { try check(token, of: row["provider"], values) }
            if ending?.reason == "reassigned" { return .skipped("whose token another user has") }
            row["token"] = token
            row["user_id"] = try user(values)
            row["kind"] = try kind(values)
            row["address"] = address(values)
            row["permission"] = try permission(values)
            if let presents = try presents(values) { row.members["presents"] = presents }
            row["environment"] = try environment(values)
            row["locale"] = values[.locale]
            // Some systems export a UTC offset in seconds, which is not a time zone.
            row["time_zone"] = values[.timeZone].flatMap { Int($0) == nil ? $0 : nil }
            row["p256dh"] = values[.p256dh]
            row["auth"] = values[.auth]
            row["registered_at"] = try time(.registeredAt, values) ?? defaults.registeredAt
            row["disabled_at"] = ending?.time
            row["disabled_reason"] = ending?.reason
            if let attributes = try attributes(values) { row.members["attributes"] = attributes }
            if let topics = try topics(values) { row.members["topics"] = topics }
            return .row(row)
        } catch {
            return .refused(error)
        }
    }

    private func provider(_ values: Values, _ token: String) throws(ImportRowError) -> ImportProvider.Verdict {
        // OneSignal's number is more precise than the name in another column.
        if let text = values[.deviceType], let number = Int(text) {
            let verdict = ImportProvider.oneSignal(number, hasEndpoint: token.hasPrefix("https://"))
            guard verdict != .unknown else {
                throw values.refusal(.deviceType, "is not a type of device that is known: \(number)")
            }
            return verdict
        }
        guard let field = [ImportField.provider, .deviceType].first(where: { values[$0] != nil }),
            let text = values[field]
        else { return (defaults.provider ?? implied(values)).map { .provider($0) } ?? .unknown }
        let verdict = ImportProvider.named(text, isFirebase: isFirebase(values))
        guard verdict != .unknown else { throw values.refusal(field, "is not a provider: \(shown(text))") }
        return verdict
    }

    /// Refuses a device that could never get a push, for errors that the database does not check.
    private func check(_ token: String, of provider: String?, _ values: Values) throws(ImportRowError) {
        let recipient = Recipient(token: token, p256dh: values[.p256dh], auth: values[.auth])
        guard let fault = provider.flatMap(Providers.named)?.fault(of: recipient) else { return }
        throw values.refusal(fault.field == .token ? .token : .p256dh, fault.reason)
    }

    /// Whether the token is FCM's, which issues tokens for iPhones and browsers too.
    private func isFirebase(_ values: Values) -> Bool { defaults.isFirebase || implied(values) == "fcm" }

    /// Returns the provider that the name of the token's column implies.
    private func implied(_ values: Values) -> String? {
        switch ImportField.key(values.column(of: .token)) {
        case "fcmtoken", "gcmtoken", "registrationtoken", "fid", "installationid": "fcm"
        case "apnstoken": "apns"
        case "endpoint", "subscription", "pushsubscription": "webpush"
        default: nil
        }
    }

    /// Splits a browser's subscription JSON into its fields, if the row has no others.
    private func withSubscription(_ values: Values) throws(ImportRowError) -> Values {
        guard let text = values[.subscription], values[.token] == nil else { return values }
        guard let object = try? JSONValue(parsing: text), let endpoint = object["endpoint"]?.stringValue else {
            throw values.refusal(.subscription, "is not a JSON object with an endpoint")
        }
        var whole = values
        let column = values.column(of: .subscription)
        whole.set(.token, endpoint, rank: 0, column: column)
        whole.set(.p256dh, object["keys"]?["p256dh"]?.stringValue ?? "", rank: 0, column: column)
        whole.set(.auth, object["keys"]?["auth"]?.stringValue ?? "", rank: 0, column: column)
        return whole
    }

    private func user(_ values: Values) throws(ImportRowError) -> String? {
        guard let text = values[.userID] else { return nil }
        if NothingText.matches(text) {
            throw values.refusal(.userID, "is “\(text)”, which programs write for no value; leave it empty")
        }
        if ImportCell.isRounded(text) {
            let reason = "is a number that a program rounded: \(shown(text)); export the column as text"
            throw values.refusal(.userID, reason)
        }
        return text
    }

    private func kind(_ values: Values) throws(ImportRowError) -> String? {
        guard let text = values[.kind] else { return nil }
        guard text.utf8.count <= 40 else { throw values.refusal(.kind, "is not a kind of token: \(shown(text))") }
        return text.lowercased().replacing("-", with: "_")
    }

    /// Returns what the token is; a column of FIDs says so by its name.
    private func address(_ values: Values) -> String? {
        if let text = values[.address] { return text.lowercased() }
        return Self.isFID(values.column(of: .token)) ? "fid" : nil
    }

    private static func isFID(_ column: String) -> Bool { ["fid", "installationid"].contains(ImportField.key(column)) }

    private func environment(_ values: Values) throws(ImportRowError) -> String? {
        guard let text = values[.environment] else { return defaults.environment }
        switch ImportField.key(text) {
        case "production", "prod", "release": return "production"
        case "sandbox", "development", "dev", "debug": return "sandbox"
        default: throw values.refusal(.environment, "is neither production nor sandbox: \(shown(text))")
        }
    }

    private func time(_ field: ImportField, _ values: Values) throws(ImportRowError) -> String? {
        guard let text = values[field] else { return nil }
        guard let time = ImportTime.normalized(text) else {
            throw values.refusal(field, "is not a time: \(shown(text))")
        }
        return time
    }

    /// Returns when and why the device stopped getting pushes in the other system; nil if it gets them.
    private func ending(_ values: Values) throws(ImportRowError) -> (time: String?, reason: String)? {
        let reason = values[.disabledReason] ?? "unregistered"
        if let time = try time(.disabledAt, values) { return (time, reason) }
        let isDisabled = try flag(.isDisabled, values) ?? false
        let isEnabled = try flag(.isEnabled, values) ?? true
        let types = values[.notificationTypes].flatMap { Int($0) } ?? 1
        return isDisabled || !isEnabled || types < 0 || values[.disabledReason] != nil ? (nil, reason) : nil
    }

    private func flag(_ field: ImportField, _ values: Values) throws(ImportRowError) -> Bool? {
        guard let text = values[field] else { return nil }
        switch text.lowercased() {
        case "true", "t", "yes", "y", "1": return true
        case "false", "f", "no", "n", "0": return false
        default: throw values.refusal(field, "is neither true nor false: \(shown(text))")
        }
    }

    private func attributes(_ values: Values) throws(ImportRowError) -> JSONValue? {
        var object = JSONObject()
        if let text = values[.attributes] {
            guard let value = try? JSONValue(parsing: text), let members = value.objectValue else {
                throw values.refusal(.attributes, "is not a JSON object")
            }
            object = members
        }
        for member in values.attributes.members { object[member.key] = member.value }
        if let problem = StorableJSON.problem(in: .object(object)) {
            throw values.refusal(.attributes, "\(problem.path) \(problem.reason)")
        }
        return object.isEmpty ? nil : .object(object)
    }

    private func topics(_ values: Values) throws(ImportRowError) -> JSONValue? {
        guard let text = values[.topics] else { return nil }
        guard let names = Self.names(in: text) else { throw values.refusal(.topics, "is not a JSON array") }
        return names
    }

    /// Returns a value in the form for a message.
    ///
    /// Long values are hidden, because a mistaken column may hold tokens.
    func shown(_ text: String) -> String {
        text.count <= 20 ? "“\(text.printable)”" : "a text of \(text.count) characters"
    }
}
