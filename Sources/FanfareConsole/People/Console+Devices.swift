internal import FanfareConfiguration
internal import FanfareConsoleReads
internal import FanfareConsoleView
internal import FanfareCore
internal import FanfareHTTP
internal import FanfareRecords
internal import FanfareTools
internal import PostgresClient

extension ConsolePage {
    /// The page of devices: their number, their states, and a list.
    static let devices = ConsolePage(
        "/devices",
        "devices",
        parts: [
            "live-counts": "device-counts", "live-fuses": "fuses", "live-disabled": "device-disabled",
            "live-reasons": "device-reasons",
        ]
    ) { visit in
        let filters = DeviceFilters(visit)
        let fleet = try await visit.fleet(of: filters.app)
        let form = FilterForm.devices(visit, apps: try await visit.apps(), fleet)
        // Updates by the stream do not contain the list.
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
            pager: found?.pager ?? Pager(shown: ""),
            actions: filters.actions(refused: visit.refusal(.restore)),
            empty: found?.empty
        )
    }

    /// The page of one device.
    static let device = ConsolePage("/devices/{id}", "device") { visit in
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

/// `/devices`: the number of devices, their states, and a list.
struct DevicesPage: ViewContext {
    let frame: Frame
    let filter: FilterForm
    let counts: [DeviceCountLine]
    /// The sum of several targets; nil for one.
    let total: DeviceTotal?
    let disabled: ChartFigure
    let reasons: [OutcomeLine]
    let fuses: [FuseLine]
    let devices: [DeviceLine]
    let hasUsers = true
    let pager: Pager
    /// The action that restores the devices of the filter.
    let actions: [ActionLink]
    let empty: Empty?
}

/// `/devices/{id}`: one device.
struct OneDevicePage: ViewContext {
    let frame: Frame
    let badge: Badge
    let facts: [Fact]
    let topics: [String]
    /// The attributes that the application stores with it, as JSON.
    let attributes: String?
}

/// The filters of the list of devices, from the address.
struct DeviceFilters: Sendable {
    let app: String?
    let provider: String?
    /// Whether only disabled, or only enabled devices are listed; nil for both.
    let isDisabled: Bool?
    let reason: String?
    /// The id of one device; nil for a list.
    let id: Int64?
    /// The earliest time of disabling, in microseconds since 1970; nil for any.
    let since: Int64?

    /// Reads the filters from the address.
    ///
    /// - Parameter visit: the request's visit.
    init(_ visit: Visit) {
        (app, provider, reason) = (visit.filter("app"), visit.filter("provider"), visit.filter("reason"))
        id = visit.filter("id").flatMap { Int64($0) }
        since = visit.filter("since").flatMap { PageTime($0, at: visit.now)?.microseconds }
        switch visit.filter("state") {
        case "enabled": isDisabled = false
        case "disabled": isDisabled = true
        // Only disabled devices have a reason and a time.
        default: isDisabled = reason != nil || since != nil ? true : nil
        }
    }

    /// Returns the action that restores the listed devices; it filters by app and time.
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

/// One part of the list of devices.
struct DeviceList: Sendable {
    let lines: [DeviceLine]
    let pager: Pager
    let empty: Empty?
}

extension FilterForm {
    /// Returns the form of the list's filters.
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
    /// Returns the field for a device's id, with an error if the text is no id.
    fileprivate static func deviceID(_ visit: Visit) -> FilterField {
        let isID = visit.filter("id").map { Int64($0) != nil } ?? true
        return .typed("id", "Device", visit, problem: isID ? nil : "Not a device id: enter a number.")
    }
}

extension DeviceList {
    /// The list in the place of one that a filter makes impossible.
    fileprivate static let unasked = DeviceList(lines: [], pager: Pager(shown: ""), empty: .mistaken)

    /// Reads one device; the other filters do not apply.
    fileprivate init(one id: Int64, in database: ToolDatabase) async throws {
        do throws(ToolError) {
            lines = [DeviceLine(try await database.device(id))]
        } catch {
            guard error.isAbsence else { throw error }
            lines = []
        }
        pager = Pager(shown: "")
        empty = lines.isEmpty ? .noDevice(isFiltered: true, isRest: false) : nil
    }
}

extension Visit {
    /// The number of devices per part of the list.
    private static let shown: Int64 = 50

    /// Reads one part of the list.
    fileprivate func devices(_ filters: DeviceFilters) async throws -> DeviceList {
        if let id = filters.id { return try await DeviceList(one: id, in: database) }
        // A cursor holds only for the same filters.
        let list = address([:])
        var filter = DeviceFilter()
        (filter.app, filter.provider, filter.isDisabled) = (filters.app, filters.provider, filters.isDisabled)
        filter.limit = Self.shown
        filter.before = try await place(in: list)?[0]
        let since = filters.since.map { Timestamp(microseconds: $0) }
        let found = try await database.findDevices(filter, reason: filters.reason, since: since)
        let count = FigureText.counted(Int64(found.rows.count), "device")
        return DeviceList(
            lines: found.rows.map { DeviceLine($0) },
            pager: Pager(
                shown: found.isStopped ? "\(count) of those searched so far" : count,
                first: filter.before == nil ? nil : list,
                next: try await address(of: found.next.map { [$0] }, in: list),
                isStopped: found.isStopped
            ),
            empty: found.rows.isEmpty && !found.isStopped
                ? .noDevice(isFiltered: !filters.isOpen, isRest: filter.before != nil) : nil
        )
    }
}

extension DeviceFilters {
    /// Whether no filter is set.
    fileprivate var isOpen: Bool {
        app == nil && provider == nil && isDisabled == nil && reason == nil && since == nil && id == nil
    }
}

extension Empty {
    fileprivate static func noDevice(isFiltered: Bool, isRest: Bool) -> Empty {
        if isRest { return Empty(title: "No more devices", words: "This is the end of the list.") }
        return isFiltered
            ? Empty(title: "No device matches", words: "Remove a filter to see more.")
            : Empty(
                title: "No devices registered",
                words: "Your app's backend registers each token, by SQL or the HTTP API:",
                command: "fanfare.register_device('app', 'apns', 'token', user_id => 'user')"
            )
    }
}

extension Fact {
    /// Returns the properties of a device without its token.
    fileprivate static func facts(of device: RegisteredDevice) -> [Fact] {
        var facts = [
            Fact(name: "App", words: device.app), Fact(name: "Provider", words: device.provider),
            Fact(name: "Environment", words: device.environment), Fact(name: "For", words: device.kind),
            Fact(name: device.address == "fid" ? "FID's hash" : "Token's hash", code: device.tokenHash),
        ]
        if let user = device.userID {
            let href = PageAddress("/people", ["app": device.app, "user": user]).text
            facts.append(Fact(name: "User", link: PageLink(name: user, href: href)))
        }
        if let locale = device.locale { facts.append(Fact(name: "Locale", words: locale)) }
        if let zone = device.timeZone { facts.append(Fact(name: "Time zone", words: zone)) }
        facts += permission(of: device)
        facts.append(Fact(name: "Registered", time: Moment(device.registeredAt.microseconds)))
        if let disabled = device.disabledAt {
            facts.append(Fact(name: "Disabled", words: device.disabledReason, time: Moment(disabled.microseconds)))
        }
        return facts
    }

    /// Returns what the device's user allows, as far as the device said it.
    private static func permission(of device: RegisteredDevice) -> [Fact] {
        let presents = device.presents.map { $0.isEmpty ? "nothing" : $0.joined(separator: ", ") }
        return [("Permission", device.permission), ("Presents", presents)].compactMap { name, words in
            words.map { Fact(name: name, words: $0) }
        }
    }
}
