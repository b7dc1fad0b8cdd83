internal import FanfareCore
internal import FanfareHTTP
internal import FanfareRecords
internal import FanfareStore
internal import FanfareTools
internal import HTTPTypes
internal import HummingbirdCore
internal import NIOCore

extension Console {
    /// Returns the route of the stream of a page's updates.
    static func stream(_ queries: ConsoleQueries) -> Route {
        Route(.get, "/console/stream", nil) { call in
            let address = call.query["page"] ?? ""
            let parts = address.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard case .found(let page, let names) = pageTable.match(parts.first ?? "") else {
                throw Problem(.absent, "there is no such page")
            }
            guard let session = try await ConsoleSession.find(call) else {
                return Answer(.ok, Array(PageStream.reload.utf8), type: "text/event-stream")
            }
            var seen = call
            (seen.names, seen.path) = (names, parts[0])
            seen.query = parts.count > 1 ? Call.values(in: parts[1]) : [:]
            let slot = try call.context.streams.take(session.token.row.id, upTo: PageStream.limit)
            return Answer(streaming: PageStream(page: page, call: seen, queries: queries, session: session, slot: slot))
        }
    }

    private static let pageTable = PageTable(pages)
}

/// Finds pages by their paths.
struct PageTable: Sendable {
    enum Match: Sendable {
        case found(ConsolePage, names: [String: String])
        case unknown
    }

    private let pages: [String: ConsolePage]
    private let table: RouteTable

    init(_ pages: [ConsolePage]) {
        self.pages = Dictionary(pages.map { ($0.path, $0) }) { $1 }
        table = RouteTable(pages.map { Route(.get, $0.path, nil) { _ in .nothing } })
    }

    /// Finds the page of a path.
    ///
    /// - Parameter path: the path as the client sent it.
    /// - Returns: the page, with the values of the path's parameters.
    func match(_ path: String) -> Match {
        guard case .found(let route, let names) = table.match(.get, path), let page = pages[route.path] else {
            return .unknown
        }
        return .found(page, names: names)
    }
}

/// The stream of an open page: its changed parts, read every two seconds.
struct PageStream: AnswerStream {
    /// The most streams of a token.
    ///
    /// A page that was left keeps its stream until the next write.
    static let limit = 100
    /// The interval between two reads.
    static let interval = Duration.seconds(2)
    /// The longest duration of a stream; the browser reconnects.
    static let lifetime = Duration.seconds(600)
    /// The time without an update after which a comment is sent, so that a dead connection is noticed.
    static let silence = Duration.seconds(15)

    /// The message for a request without a session: the page reloads and asks for the login.
    static let reload = "event: reload\ndata: {}\n\n"

    let page: ConsolePage
    let call: Call
    let queries: ConsoleQueries
    let session: ConsoleSession
    /// The slot that the stream occupies while it is open.
    let slot: StreamSlot

    @concurrent func write(to writer: inout any ResponseBodyWriter) async throws {
        let end = ContinuousClock.now + Self.lifetime
        var (sent, last): ([String: String], ContinuousClock.Instant) = ([:], .now)
        try await writer.write(ByteBuffer(string: "retry: 2000\n\n"))
        while ContinuousClock.now < end, !call.context.streams.isStopped {
            // A short outage of the database must not clear the page.
            let isOver = try? await ConsoleSession.find(call) == nil
            if isOver == true { return try await writer.write(ByteBuffer(string: Self.reload)) }
            var text = ""
            for part in isOver == nil ? [] : (try? await parts()) ?? [] where sent[part.id] != part.html {
                sent[part.id] = part.html
                let json: JSONValue = ["id": .string(part.id), "html": .string(part.html)]
                text += "event: part\ndata: \(json.text)\n\n"
            }
            if text.isEmpty, ContinuousClock.now - last > Self.silence { text = ": nothing changed\n\n" }
            if !text.isEmpty {
                try await writer.write(ByteBuffer(string: text))
                last = .now
            }
            try await Task.sleep(for: Self.interval)
        }
    }

    private func parts() async throws -> [(id: String, html: String)] {
        try await page.parts(for: Visit(call, queries, isStreamed: page.isStreamed, session: session))
    }
}
