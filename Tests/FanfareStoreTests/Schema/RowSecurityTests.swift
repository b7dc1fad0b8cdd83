import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareTools

/// Row-level security silently hides rows from `fanfare_sql`, the role that runs authors' SQL.
@Suite(.database)
struct RowSecurityTests {
    private static let members = "row-level security of public.members hides rows from fanfare_sql"
    private static let policy = "CREATE POLICY fanfare ON public.members FOR SELECT TO fanfare_sql USING (true)"
    private static let rule = """
        SELECT fanfare.put_rule('{"app": "shop", "name": "r", "event": "e", "message": {"notification": {"title": "T"}},
            "to": {"users_sql": "SELECT m.user_id FROM public.Members AS m WHERE m.team = $1->>''team''"},
            "badge_sql": "SELECT user_id, count(*) FROM public.members WHERE user_id = ANY ($1) GROUP BY 1"}')
        """
    private static let campaigns = [
        #"""
        SELECT fanfare.put_campaign('{"app": "shop", "name": "a", "message": {"notification": {"title": "T"}},
            "audience_sql": "SELECT user_id FROM public.\"Old members\""}')
        """#,
        #"""
        SELECT fanfare.put_campaign('{"app": "shop", "name": "p", "message": {"notification": {"title": "T"}}, "to": {"users": "$.u"},
            "payload_sql": "SELECT jsonb_build_object(''u'', user_id) FROM public.\"Old members\""}')
        """#,
    ]

    private let world: World

    init() throws {
        world = try World()
        try world.connection.execute(
            """
            CREATE TABLE public.members (team text, user_id text);
            CREATE TABLE public."Old members" (user_id text);
            ALTER TABLE public.members ENABLE ROW LEVEL SECURITY;
            ALTER TABLE public."Old members" ENABLE ROW LEVEL SECURITY;
            CREATE POLICY own ON public.members USING (user_id = current_setting('app.user', true));
            GRANT SELECT ON public.members, public."Old members" TO fanfare_sql;
            """
        )
    }

    private func warnings(_ sql: String) throws -> [String] {
        var told: [String] = []
        world.connection.noticeHandler = { told.append("\($0.message) | \($0.hint ?? "")") }
        defer { world.connection.noticeHandler = nil }
        try world.connection.execute(sql)
        return told.sorted()
    }

    @Test func whoPutsItIsWarned() throws {
        let both = ["badge_sql", "to.users_sql"].map { "shop/r: \($0): \(Self.members) | \(Self.policy)." }
        #expect(try warnings(Self.rule) == both)
        try world.connection.execute("SET row_security = off")
        #expect(try warnings(Self.rule) == both, "whatever the author's session says")
        for campaign in Self.campaigns {
            let told = try warnings(campaign)
            #expect(told.count == 1)
            #expect(told.first?.contains(#"_sql: row-level security of public."Old members" hides rows"#) == true)
        }
        try world.connection.execute(Self.policy)
        #expect(try warnings(Self.rule).isEmpty, "every row is there")
        try world.connection.execute("CREATE POLICY cut ON public.members AS RESTRICTIVE USING (team <> 'x')")
        #expect(try warnings(Self.rule) == both, "not quite every one")
    }

    @Test func checkSaysItOfWhatIsInForce() async throws {
        try world.connection.execute("SELECT fanfare.adopt(); \(Self.rule)")
        for campaign in Self.campaigns { try world.connection.execute(campaign) }
        let items = {
            let all = await Checkup(try toolConfiguration(), environment: [:]).items(online: false)
            return all.filter { $0.detail.contains("row-level security") }
        }
        #expect(try await items().isEmpty, "no daemon has taken them")
        try world.schedule()
        let found = try await items()
        #expect(
            found.map(\.name) == [
                "campaign shop/a: audience_sql", "campaign shop/p: payload_sql", "rule shop/r: badge_sql",
                "rule shop/r: to.users_sql",
            ]
        )
        #expect(found.last == CheckItem(.warn, "rule shop/r: to.users_sql", Self.members, advice: Self.policy + ";"))
        try world.connection.execute(Self.policy)
        #expect(try await items().count == 2)
    }

    @Test func whatAViewReadsCountsAsItsReaderReadsIt() throws {
        try world.connection.execute(
            """
            CREATE VIEW public.team AS SELECT * FROM public.members;
            CREATE TABLE public.open (user_id text);
            GRANT SELECT ON public.team, public.open TO fanfare_sql;
            """
        )
        let hidden = { (query: String) in
            try world.connection.text("SELECT fanfare.hidden_tables($1, 'jsonb')", query)
        }
        #expect(try hidden("SELECT user_id FROM public.team") == nil, "its owner is a superuser")
        try world.connection.execute("ALTER VIEW public.team SET (security_invoker = true)")
        #expect(try hidden("SELECT user_id FROM public.team") == "{public.members}")
        #expect(try hidden("SELECT user_id FROM public.open -- not members") == nil)
        #expect(try hidden("SELECT no such thing") == nil)
        #expect(try hidden("DELETE FROM public.members") == nil)
        #expect(try world.connection.text("SHOW row_security") == "on")
        #expect(world.connection.refusal("CREATE TABLE public.kept (a int)") == nil, "the transaction goes on")
    }
}
