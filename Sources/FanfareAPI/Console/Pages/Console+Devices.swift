internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareStore
internal import FanfareTools
internal import PostgresClient

extension ConsolePage {
    /// How many devices there are, in what state, and which.
    static let devices = ConsolePage("/devices", .devices) { visit in
        let filters = DeviceFilters(visit)
        let fleet = try await visit.fleet(of: filters.app)
        let form = FilterForm.devices(visit, apps: try await visit.apps(), fleet)
        // What is sent again has no list.
        let found = visit.isUpdate ? nil : form.isMistaken ? .unasked : try await visit.devices(filters)
        return DevicesPage(
            frame: visit.frame("Devices"),
            filter: form,
            counts: fleet.counts,
            total: fleet.total,
            disabled: fleet.disabled,
            reasons: fleet.reasons,
            fuses: fleet.fuses.map { FuseLine($0, visit.status.health) },
            devices: found?.lines ?? [],
            pager: found?.pager ?? Pager(shown: "", first: nil, next: nil, searchedTo: nil, further: nil),
            actions: filters.actions(refused: visit.refusal(.restore)),
            empty: found?.empty
        )
    }

    /// One device.
    static let device = ConsolePage("/devices/{id}", .device) { visit in
        let device = try await visit.database.device(visit.call.id("id"))
        return OneDevicePage(
            frame: visit.frame("Device \(device.id)", parent: PageLink(name: "Devices", href: "/devices")),
            badge: DeviceLine.badge(device),
            facts: Fact.facts(of: device),
            topics: device.topics ?? [],
            attributes: device.attributes
        )
    }
}

/// Which devices the address asks for.
struct DeviceFilters: Sendable {
    let app: String?
    let provider: String?
    /// Nil for enabled and disabled ones.
    let isDisabled: Bool?
    let reason: String?
    /// One device alone.
    let id: Int64?
    /// Disabled since then, in microseconds since 1970.
    let since: Int64?

    /// Reads the filters.
    ///
    /// - Parameter visit: whose.
    init(_ visit: Visit) {
        (app, provider, reason) = (visit.filter("app"), visit.filter("provider"), visit.filter("reason"))
        id = visit.filter("id").flatMap { Int64($0) }
        since = visit.filter("since").flatMap { PageTime($0, at: visit.now)?.microseconds }
        switch visit.filter("state") {
        case "enabled": isDisabled = false
        case "disabled": isDisabled = true
        // Only what is disabled has a reason and a time.
        default: isDisabled = reason != nil || since != nil ? true : nil
        }
    }

    /// Restoring what is shown; it goes by app and time.
    fileprivate func actions(refused refusal: String?) -> [ActionLink] {
        guard isDisabled == true else { return [] }
        let name = "Restore these devices"
        if let refusal { return [ActionLink(name, "", refused: refusal)] }
        guard let app, let since else {
            return [ActionLink(name, "", refused: "choose an app and “Disabled since”")]
        }
        guard provider == nil else {
            return [ActionLink(name, "", refused: "restores all providers: remove that filter")]
        }
        var query = ["app": app, "since": PageTime(microseconds: since).field]
        query["reason"] = reason
        return [ActionLink(name, PageAddress("/devices/restore", query).text, .warn)]
    }
}

/// The devices of one part of the list.
struct DeviceList: Sendable {
    let lines: [DeviceLine]
    let pager: Pager
    let empty: Empty?
}

extension FilterForm {
    /// Which devices one asks for.
    fileprivate static func devices(_ visit: Visit, apps: [String], _ fleet: FleetDigest) -> FilterForm {
        FilterForm(
            visit,
            [
                .chosen("app", "App", apps, visit), .chosen("provider", "Provider", fleet.providers, visit),
                .chosen("state", "State", ["enabled", "disabled"], visit),
                .chosen("reason", "Reason", fleet.reasonNames, visit),
                .time("since", "Disabled since (UTC)", visit), .deviceID(visit),
            ]
        )
    }
}

extension FilterField {
    /// One device alone; what is no id says so.
    fileprivate static func deviceID(_ visit: Visit) -> FilterField {
        let isID = visit.filter("id").map { Int64($0) != nil } ?? true
        return .typed("id", "Device", visit, problem: isID ? nil : "Not a device id: enter a number.")
    }
}

extension DeviceList {
    /// Something that was asked for cannot be.
    fileprivate static let unasked = DeviceList(lines: [], pager: .none, empty: .mistaken)

    /// One device, whatever else is asked for.
    fileprivate init(one id: Int64, in database: ToolDatabase) async throws {
        do throws(ToolError) {
            lines = [DeviceLine(try await database.device(id))]
        } catch {
            guard error.isAbsence else { throw error }
            lines = []
        }
        pager = .none
        empty = lines.isEmpty ? .noDevice(isFiltered: true, isRest: false) : nil
    }
}

extension Visit {
    /// How many devices are shown at once.
    private static let shown: Int64 = 50

    /// Finds the devices of a part of the list.
    fileprivate func devices(_ filters: DeviceFilters) async throws -> DeviceList {
        if let id = filters.id { return try await DeviceList(one: id, in: database) }
        // The same list with other filters is another one.
        let list = address([:])
        var filter = DeviceFilter()
        (filter.app, filter.provider, filter.isDisabled) = (filters.app, filters.provider, filters.isDisabled)
        filter.limit = Self.shown
        let after = self.filter("after")
        if let after { filter.before = try await call.context.cursors.open(after, count: 1, of: list)[0] }
        let since = filters.since.map { Timestamp(microseconds: $0) }
        let found = try await database.findDevices(filter, reason: filters.reason, since: since)
        var next: String?
        if let last = found.devices.last, found.isMore { next = try await further(last.id, list) }
        var further: String?
        if let place = found.stoppedAt { further = try await self.further(place, list) }
        let count = FigureText.counted(Int64(found.devices.count), "device")
        let isAll = found.stoppedAt == nil
        return DeviceList(
            lines: found.devices.map { DeviceLine($0) },
            pager: Pager(
                shown: isAll ? count : "\(count) of those searched so far",
                first: after == nil ? nil : list,
                next: next,
                searchedTo: nil,
                further: further
            ),
            empty: found.devices.isEmpty && isAll ? .noDevice(isFiltered: !filters.isOpen, isRest: after != nil) : nil
        )
    }

    private func further(_ place: Int64, _ list: String) async throws -> String {
        address(["after": try await call.context.cursors.seal([place], of: list)])
    }
}

extension DeviceFilters {
    /// Whether they let everything pass.
    fileprivate var isOpen: Bool {
        app == nil && provider == nil && isDisabled == nil && reason == nil && since == nil && id == nil
    }
}

extension Pager {
    /// Of a list that is not there.
    fileprivate static let none = Pager(shown: "", first: nil, next: nil, searchedTo: nil, further: nil)
}

extension Empty {
    fileprivate static func noDevice(isFiltered: Bool, isRest: Bool) -> Empty {
        if isRest { return Empty(title: "No more devices", words: "This is the end of the list.", command: nil) }
        return isFiltered
            ? Empty(title: "No device matches", words: "Remove a filter to see more.", command: nil)
            : Empty(
                title: "No devices registered",
                words: "Your app's backend registers each token, by SQL or the HTTP API:",
                command: "fanfare.register_device('app', 'apns', 'token', user_id => 'user')"
            )
    }
}

extension Fact {
    /// What is known of a device; never its token.
    fileprivate static func facts(of device: RegisteredDevice) -> [Fact] {
        var facts = [
            Fact(name: "App", words: device.app), Fact(name: "Provider", words: device.provider),
            Fact(name: "Environment", words: device.environment), Fact(name: "For", words: device.kind),
            Fact(name: "Token's hash", code: device.tokenHash),
        ]
        if let user = device.userID {
            let href = PageAddress("/people", ["app": device.app, "user": user]).text
            facts.append(Fact(name: "User", link: PageLink(name: user, href: href)))
        }
        if let locale = device.locale { facts.append(Fact(name: "Locale", words: locale)) }
        if let zone = device.timeZone { facts.append(Fact(name: "Time zone", words: zone)) }
        facts.append(Fact(name: "Registered", time: Moment(device.registeredAt.microseconds)))
        if let disabled = device.disabledAt {
            facts.append(Fact(name: "Disabled", words: device.disabledReason, time: Moment(disabled.microseconds)))
        }
        return facts
    }
}
