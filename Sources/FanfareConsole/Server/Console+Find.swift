internal import FanfareConsoleReads
internal import FanfareConsoleView
internal import FanfareCore
internal import FanfareHTTP
internal import FanfareRecords
internal import FanfareStore
internal import FanfareTools
internal import HTTPTypes
internal import PostgresClient

extension Console {
    /// Redirects to the page that a search term names, or lists the candidates.
    static func find(_ queries: ConsoleQueries) -> Route {
        Route.page("/find") { call in
            let visit = try await Visit(call, queries)
            let text = visit.filter("q")?.trimmed ?? ""
            let found = text.isEmpty ? [] : try await candidates(text, visit)
            if found.count == 1, let only = found.first { return .redirect(to: only.href, call) }
            let page = FindPage(
                frame: visit.frame("Find", search: text),
                candidates: found,
                empty: found.isEmpty ? .nothingFound(text) : nil
            )
            return .page(templates.render("find", page))
        }
    }

    /// Returns whether a text is a delivery id as Fanfare makes them (RFC 9562, version 8).
    fileprivate static func isDeliveryID(_ text: String) -> Bool {
        text.wholeMatch(of: /[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-8[0-9A-Fa-f]{3}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}/) != nil
    }

    /// Returns what a term may name, the most specific kinds first.
    private static func candidates(_ text: String, _ visit: Visit) async throws -> [FindCandidate] {
        let database = visit.database
        var found: [FindCandidate] = []
        if let id = Int64(text), id > 0 {
            if let event = try await database.rows(of: SQL.eventHead(id)).first?.event {
                found.append(FindCandidate("Event \(id)", "\(event.type), \(event.fate)", "/events/\(id)"))
            }
            if let device = try await database.registeredDevice(id) {
                let words = "\(device.app), \(device.provider)" + (device.userID.map { ", of \($0)" } ?? "")
                found.append(FindCandidate("Device \(id)", words, DeviceLine.href(id)))
            }
        }
        if isDeliveryID(text), let push = try await database.push(ofDelivery: text) {
            let device = try await database.registeredDevice(push.device)
            let words = "event \(push.event)" + (device?.userID.map { ", user \($0)" } ?? "")
            let person = device.flatMap { device in
                device.userID.map { PageAddress.person($0, app: device.app, event: push.event) }
            }
            found.append(FindCandidate("Push \(text)", words, person ?? "/events/\(push.event)"))
        }
        for event in try await database.rows(of: SQL.eventsOfKey(text, nil)) {
            let words = "\(event.type), \(Moment(event.createdAt.microseconds).words)"
            found.append(FindCandidate("Event with the key \(text)", words, "/events/\(event.id)"))
        }
        let apps = try await visit.apps()
        let person = try await database.person(text, apps: apps, app: nil)
        if !person.devices.isEmpty || !person.preferences.isEmpty {
            let devices = FigureText.counted(Int64(person.devices.count), "device")
            let places = Set(person.devices.map(\.app) + person.preferences.map(\.app)).sorted().joined(separator: ", ")
            found.append(FindCandidate("User \(text)", "\(devices), \(places)", PageAddress.person(text)))
        }
        found += try await database.rows(of: SQL.findNamed(text)).map { row in
            let place = "\(PageAddress.encoded(row.app))/\(PageAddress.encoded(row.name))"
            return row.isCampaign
                ? FindCandidate("Campaign \(row.name)", row.app, "/campaigns/\(place)")
                : FindCandidate("Rule \(row.name)", row.app, "/rules/\(place)")
        }
        return found
    }
}

extension FindCandidate {
    fileprivate init(_ name: String, _ words: String, _ href: String) {
        self.init(name: name, words: words, href: href)
    }
}

extension Empty {
    /// Returns the text for a term that names nothing.
    fileprivate static func nothingFound(_ text: String) -> Empty {
        guard !text.isEmpty else {
            return Empty(
                title: "Search",
                words:
                    "Enter the id or key of an event, the id of a user or device, or the name of a rule or campaign above."
            )
        }
        guard !Console.isDeliveryID(text) else {
            return Empty(
                title: "Not among the latest pushes",
                words:
                    "An apns-id is computed from event, rule and device and not stored, so only the latest pushes are searched. Search for the user or the event."
            )
        }
        return Empty(
            title: "No results",
            words:
                "No event id, current event key, device id, user, rule or campaign matches. For older keys use the filter on the Events page."
        )
    }
}

/// `/find`: the candidates for a term that is ambiguous or unknown.
struct FindPage: ViewContext {
    let frame: Frame
    let candidates: [FindCandidate]
    let empty: Empty?
}

/// One candidate.
struct FindCandidate: ViewContext {
    /// The kind and name of the candidate.
    let name: String
    let words: String
    let href: String
}
