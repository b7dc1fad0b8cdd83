import BrowserKit
import PostgresClient
import TestKit

extension DevProcess {
    /// Runs a statement as an application would.
    ///
    /// - Parameters:
    ///   - statement: the SQL.
    ///   - binds: the values of `$1`, `$2` ….
    /// - Returns: the rows as text.
    /// - Throws: the database's error.
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
    ///   - type: the event's type.
    ///   - payload: the payload, an object.
    ///   - key: the idempotency key; nil for none.
    /// - Returns: the event's id.
    /// - Throws: the API's error.
    @discardableResult
    func emit(_ type: String, _ payload: JSON = [:], key: String? = nil) async throws -> String {
        let event: JSON = [
            "type": .string(type), "payload": payload, "key": key.map(JSON.string) ?? .null,
        ]
        return try id(await ask("POST", "/v1/events", event)["id"])
    }

    /// Places an order and ships it.
    ///
    /// - Parameter customer: the user who gets the push.
    /// - Throws: the database's error.
    func shipOrder(of customer: String) async throws {
        let order = try await rows(
            "INSERT INTO public.orders (customer_id, total) VALUES ($1, 9.5) RETURNING id",
            customer
        )
        try await rows("UPDATE public.orders SET status = 'shipped' WHERE id = $1", order[0][0])
    }

    /// Starts a campaign to all devices, with a canary that holds the rest for an hour.
    ///
    /// - Parameters:
    ///   - name: the campaign's name.
    ///   - browser: the browser, whose waits are used.
    /// - Returns: the id of the run's event.
    /// - Throws: the API's error.
    func startHeldCampaign(_ name: String, _ browser: Browser) async throws -> String {
        // The canary's sample is drawn by user: with few users it could contain none, or all.
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

    /// Returns the progress of the newest run of a campaign.
    ///
    /// - Parameter campaign: the campaign's name.
    /// - Returns: the progress as the API returns it.
    /// - Throws: the API's error.
    func progress(of campaign: String) async throws -> JSON {
        try await ask("GET", "/v1/apps/demo/campaigns/\(campaign)/progress")["progress"]
    }

    /// Returns an id as text; some responses have numbers.
    private func id(_ json: JSON) throws -> String {
        guard let id = json.text ?? json.integer.map(String.init) else { throw ProgramError(message: "no id: \(json)") }
        return id
    }
}
