import BrowserKit
import PostgresClient
import TestKit

extension DevProcess {
    /// Runs one statement as an application would.
    ///
    /// - Parameters:
    ///   - statement: in SQL.
    ///   - binds: its `$1`, `$2` ….
    /// - Returns: its rows, as text.
    /// - Throws: what the database says.
    @discardableResult
    func rows(_ statement: String, _ binds: String?...) async throws -> [[String?]] {
        let url = database
        return try await onThread("sql") {
            try PostgresConnection.open(PostgresOptions(url: url)).query(statement, binds: binds).rows
        }
    }

    /// Emits an event.
    ///
    /// - Parameters:
    ///   - type: of it.
    ///   - payload: an object.
    ///   - key: of it; nil for none.
    /// - Returns: its id.
    /// - Throws: what the API says.
    @discardableResult
    func emit(_ type: String, _ payload: JSON = [:], key: String? = nil) async throws -> String {
        let event: JSON = [
            "type": .string(type), "payload": payload, "key": key.map(JSON.string) ?? .null,
        ]
        return try id(await ask("POST", "/v1/events", event)["id"])
    }

    /// Places an order, and ships it.
    ///
    /// - Parameter customer: who gets the push.
    /// - Throws: what the database says.
    func shipOrder(of customer: String) async throws {
        let order = try await rows(
            "INSERT INTO public.orders (customer_id, total) VALUES ($1, 9.5) RETURNING id",
            customer
        )
        try await rows("UPDATE public.orders SET status = 'shipped' WHERE id = $1", order[0][0])
    }

    /// Starts a campaign to all devices, of which some get it and the others wait for an hour.
    ///
    /// - Parameters:
    ///   - name: of the campaign.
    ///   - browser: waits.
    /// - Returns: the id of its event.
    /// - Throws: what the API says.
    func startHeldCampaign(_ name: String, _ browser: Browser) async throws -> String {
        // Its sample is drawn by users: of a few it could be none, or all.
        try await rows(
            """
            SELECT fanfare.register_device('demo', 'apns', lpad(i::text, 64, 'a'), user_id => 'reader-' || i)
            FROM generate_series(1, 60) AS i
            """
        )
        let campaign: JSON = [
            "name": .string(name), "app": "demo", "to": ["everyone": true], "ttl": "4h",
            "canary": ["devices": 20, "wait": "60m", "max_failed": "50%"],
            "message": ["notification": ["title": "News", "body": "Look into the shop"]],
        ]
        let path = "/v1/apps/demo/campaigns"
        _ = try await ask("POST", "\(path)/apply", ["campaigns": [campaign]])
        try await browser.wait(for: "\(name) to be in force") {
            try await ask("GET", "\(path)/\(name)")["definition_in_force"] == .null ? nil : true
        }
        let event = try id(await ask("POST", "\(path)/\(name)/start", [:])["event_id"])
        try await browser.wait(for: "the canary of \(name)") {
            let progress = try await progress(of: name)
            let isHeld = progress["hold"].text?.hasPrefix("canary") == true
            return isHeld && (progress["accepted"].integer ?? 0) > 0 ? true : nil
        }
        return event
    }

    /// How far the newest run of a campaign is.
    ///
    /// - Parameter campaign: its name.
    /// - Returns: as the API has it.
    /// - Throws: what the API says.
    func progress(of campaign: String) async throws -> JSON {
        try await ask("GET", "/v1/apps/demo/campaigns/\(campaign)/progress")["progress"]
    }

    /// Ids are text in some answers, and numbers in others.
    private func id(_ json: JSON) throws -> String {
        guard let id = json.text ?? json.integer.map(String.init) else { throw ProgramError(message: "no id: \(json)") }
        return id
    }
}
