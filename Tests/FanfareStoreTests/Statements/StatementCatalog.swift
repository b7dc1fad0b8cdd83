import FanfareCore
import PostgresClient

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareRecords
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore
@testable import FanfareTools

/// Every statement of FanfareService, with binds for which it has an effect in a world filled by ``populate(_:)``.
struct StatementCatalog {
    let all: [any BoundStatement]

    init(_ world: World) throws {
        let parts = try Self.populate(world)
        var all = Self.planning(parts)
        all += Self.claiming(parts)
        all += Self.recording(parts)
        all += Self.control(parts)
        all += Self.maintenance(parts)
        all += Self.audit(parts)
        all += Self.tools(parts)
        all += Self.toolsForAPI(parts)
        all += Self.toolsForRules(parts)
        all += Self.toolsForCampaigns(parts)
        all += Self.toolsForPages(parts)
        all += Self.feedback()
        self.all = all
    }

    private struct Parts {
        let event: Int64
        let keyed: Int64
        let version: Int32
        let tokensVersion: Int32
        let nativeVersion: Int32
        let collapsing: Int32
        let unchecked: Int32
        let device: Int64
        let token: String
        let target: Int16
        let otherTarget: Int16
        let batch: ClaimedBatch
        let plan: OpenedPlan
        let slow: OutboxPlace
        let question: AudienceQuestion
        let backendPID: Int32
    }

    private static let owner: Int32 = 7
    private static let page = DeviceExportPage(app: "shop", provider: nil, includesDisabled: true, after: 0, limit: 10)
    private static let message = #"{"app": "shop", "to": {"users": "u"}, "message": {"data": {"a": "b"}}}"#
    private static let policy = #"{"rate": "5/s", "quiet_hours": {"from": "22:00", "until": "08:00"}}"#

    private static let ofNews: DeviceFilter = {
        var filter = DeviceFilter()
        filter.topic = "news"
        return filter
    }()

    /// Creates a row for each statement: planned, claimed, waiting, quarantined, partly expanded, unchecked.
    private static func populate(_ world: World) throws -> Parts {
        let token = String(repeating: "ab", count: 32)
        let device = try world.device(token, user: "u", #"attributes => '{"tier": "gold"}'"#)
        _ = try world.connection.query("SELECT fanfare.subscribe($1::bigint, 'news')", String(device))
        _ = try world.connection.query("SELECT fanfare.set_preference('shop', 'u', 'c', true)")
        _ = try world.connection.query("SELECT fanfare.note_import('shop', '\\x02', 'f', 0, 1, '{}', false)")
        _ = try world.connection.query(
            "SELECT fanfare.note_topic_change('shop', 'subscribe', 'news', '\\x02', 1, '{}', false)"
        )
        _ = try world.connection.query(
            "INSERT INTO fanfare.api_tokens (name, secret_hash, scopes) VALUES ('t', sha256('x'), '{reader}')"
        )
        _ = try world.connection.query(
            "INSERT INTO fanfare.api_requests (token_id, key, body_hash, event_ids) VALUES (1, 'once', sha256('x'), '{7}')"
        )
        // For an app without devices, so that no claim uses it.
        _ = try world.connection.query("SELECT fanfare.put_policy('slow', $1::jsonb)", Self.policy)
        let version = try world.rule("users", event: "order", to: #"{"users": "$.user"}"#)
        let tokens = try world.rule("tokens", event: "token", to: #"{"tokens": "$.token", "provider": "apns"}"#)
        let native = try world.rule("native", event: "native", to: #"{"fcm_topic": "all"}"#)
        let everyone = try world.rule("all", event: "all", to: #"{"everyone": true}"#, #""lane": "transactional""#)
        let collapsing = try world.rule("chat", event: "chat", to: #"{"users": "$.user"}"#, #""collapse": "c""#)
        let event = try world.emit("order", #"{"user": "u"}"#)
        let keyed = try world.emit("order", #"{"user": "u"}"#, key: "k")
        try world.plan()
        let batches = try world.claim(owner: owner, leaseToken: 70)
        try world.emit("order", #"{"user": "u"}"#)
        try world.plan()
        _ = try world.connection.runReturningCount(
            SQL.openPlan(keyed, Int32(everyone), PlannedClause.json([PlannedClause(all: [1], none: [2])]))
        )
        let plan = try world.connection.run(LockPlan())[0]
        try world.connection.execute(
            """
            SELECT fanfare.emit('order', '{"user": "u"}'), fanfare.cancel('order', 'k');
            INSERT INTO fanfare.quarantine (xid, id, created_at, type, payload)
            VALUES ('1', fanfare.new_event_id(), now(), 'order', '{"user": "u"}');
            INSERT INTO fanfare.collapse_latest (key, event_id) VALUES (5, 6);
            SELECT fanfare.emit_at('order', now(), '{"user": "u"}');
            INSERT INTO fanfare.scheduled (at, app_id, type, payload) SELECT now() + interval '1 d', id, 'send.shop', '{}' FROM fanfare.apps WHERE name = 'shop';
            INSERT INTO fanfare.audience_queries (event_id, rule_version) VALUES (\(keyed), \(version));
            INSERT INTO fanfare.open_digests (rule_id, key, began_at, due_at, count, event_ids)
            VALUES (1, 'u', 'epoch', 'epoch', 1, ARRAY[\(event)]);
            SELECT fanfare.put_campaign(
                '{"app": "shop", "name": "due", "to": {"everyone": true}, "message": {"data": {"a": "b"}}}');
            SELECT fanfare.take_campaign(1, 1, NULL, now());
            UPDATE fanfare.campaigns SET next_at = '1970-01-01';
            INSERT INTO fanfare.runs (campaign_id, scheduled_at, event_id, state) VALUES (1, now(), \(event), 'running');
            UPDATE fanfare.runs SET fired_at = now();
            SELECT fanfare.put_campaign(
                '{"app": "shop", "name": "draft", "to": {"everyone": true}, "message": {"data": {"a": "b"}}}');
            CREATE TABLE public.members (user_id text);
            ALTER TABLE public.members ENABLE ROW LEVEL SECURITY;
            GRANT SELECT ON public.members TO fanfare_sql;
            CREATE PUBLICATION everything FOR ALL TABLES;
            INSERT INTO fanfare.batch_log (day, id, event_id, created_at, rule_version, target_id, lane, attempt, first_device,
                last_device, device_ids, outcomes)
            SELECT fanfare.ring_day(b.id), b.id, b.event_id, now(), \(version), 1, 1, 1, 1, 1, '{1}', '\\x23'
            FROM (VALUES (7::bigint << 32, 1), (\(event) + 1000, \(event))) AS b (id, event_id);
            INSERT INTO fanfare.batch_log (day, id, event_id, created_at, rule_version, target_id, lane, attempt, first_device,
                last_device, device_ids, outcomes)
            VALUES (fanfare.ring_day(\(event)), \(event) + 2000, \(event), now(), \(collapsing), 1, 1, 1, \(device), \(device), '{\(device)}', '\\x01');
            INSERT INTO fanfare.retractions (event_id, due_at) VALUES (\(event), 'epoch'), (7::bigint << 32, 'epoch');
            INSERT INTO fanfare.retracted_devices (device_id, ids, times, pending, rule_version, due_at)
            VALUES (\(device), '{c}', '{7}', 1, \(collapsing), 'epoch');
            INSERT INTO fanfare.actions (actor, action, target) VALUES ('ann', 'campaign.start', 'shop/due: 7');
            INSERT INTO fanfare.batches (id, event_id, rule_version, target_id, lane, device_ids)
            VALUES (5::bigint << 32, 5::bigint << 32, 1, 1, 1, '{1}');
            INSERT INTO fanfare.instances (name, host, pid, version, lease_until, schema_version)
            VALUES ('d', 'h', 1, 'v', now(), 9);
            INSERT INTO fanfare.prune_fuses (app_id, environment, blown_at, evidence) VALUES (1, 'sandbox', now(), 'weak');
            INSERT INTO fanfare.prune_counts (app_id, environment, provider, since, answers, weak, strong)
            VALUES (1, 'production', 'apns', now(), 9, 1, 1);
            INSERT INTO fanfare.stats_pending (rule_version, target_id, outcome, deliveries) VALUES (1, 1, 1, 1);
            INSERT INTO fanfare.traffic VALUES ('outcome', now(), 1, 1, 64, 5), ('latency', now(), 1, 1, 3, 5);
            INSERT INTO fanfare.stats VALUES ((now() AT TIME ZONE 'UTC')::date, \(version), 1, 1, 5);
            INSERT INTO fanfare.shapes (name, hash, app_id, rule_id, seen_at, retired_at)
            SELECT 'shape' || r.id, '', r.app_id, r.id, '2001-01-01', CASE r.id WHEN 2 THEN timestamptz '2001-01-01' END
            FROM fanfare.rules AS r WHERE r.id < 3;
            INSERT INTO fanfare.audiences (event_id, bucket, user_id, variables)
            VALUES (7, fanfare.bucket(fanfare.audience_seed(7), 'u'), 'u', '{"a": 1}');
            INSERT INTO fanfare.runs (id, campaign_id, scheduled_at, event_id, state, owner, test_users, fired_at) OVERRIDING SYSTEM VALUE
            VALUES (50, 1, '2001-01-01', NULL, 'querying', 7, NULL, now()), (51, 1, '2001-01-02', NULL, 'querying', 7, NULL, now()),
                (52, 1, '2001-01-03', 52, 'querying', NULL, '{u}', now());
            SELECT fanfare.make_gate(1, 8, 2::smallint), fanfare.make_gate(1, NULL, NULL, 'aborting'), fanfare.make_gate(2, 8), fanfare.make_gate(2, 9);
            SELECT fanfare.set_rate(2, 500);
            INSERT INTO fanfare.batches (event_id, rule_version, target_id, lane, device_ids, gate_id)
            SELECT 1, 1, target_id, 2, '{1}', gate FROM fanfare.devices, (VALUES (1), (2), (5)) AS g (gate) WHERE id = \(device);
            SELECT fanfare.put_rule('{"app": "shop", "name": "new", "event": "e", "to": {"everyone": true}, "message": {}}'), fanfare.adopt('here');
            SELECT fanfare.register_device('shop', 'apns', 'dead'), fanfare.register_device('shop', 'fcm', 'android');
            UPDATE fanfare.devices SET disabled_at = now(), disabled_reason = 'Unregistered' WHERE token = 'dead';
            SELECT fanfare.put_campaign(
                '{"app": "shop", "name": "by-hand", "to": {"everyone": true}, "message": {"data": {"a": "b"}}}');
            SELECT fanfare.take_campaign(3, 1, NULL, now());
            INSERT INTO fanfare.runs (campaign_id, scheduled_at, event_id, state, gate_id, held_gate_id, canary_share, canary_wait, canary_max_failed)
            VALUES (1, now() - interval '1 h', \(event), 'running', fanfare.make_gate(1, 2), fanfare.make_gate(1, 2, NULL, 'held'), 0.5, '0 s', 0.5);
            UPDATE fanfare.runs SET wall = '2999-01-01 09:00' WHERE held_gate_id IS NOT NULL;
            INSERT INTO fanfare.batches (event_id, rule_version, target_id, lane, device_ids, gate_id, not_before)
            SELECT 1, 1, d.target_id, 2, '{1}', o.held_gate_id, '2999-01-01 08:00Z' FROM fanfare.devices AS d, fanfare.runs AS o
            WHERE d.id = \(device) AND o.held_gate_id IS NOT NULL;
            INSERT INTO fanfare.runs (campaign_id, scheduled_at, event_id, state, gate_id, held_gate_id, canary_share, canary_wait,
                canary_max_failed, verdict, experiment, look_at)
            VALUES (1, now() - interval '2 h', \(event), 'running', fanfare.make_gate(1, 3), fanfare.make_gate(1, 3, NULL, 'held'), 0.5, '0 s',
                0.5, 'passed', '{"by": "opened", "unclear": "hold"}', 'epoch');
            INSERT INTO fanfare.value_paths (event_type, path, converts) VALUES ('sql:1', '{}', true);
            UPDATE fanfare.rule_versions SET conversion_event = 'sql:1', conversion_user = '{}', conversion_within = '1 h',
                definition = (definition::jsonb || '{"conversion_sql": "SELECT"}')::json WHERE rule_id = 1;
            INSERT INTO fanfare.feedback_hooks (name, codes) VALUES ('hook', '{35}');
            INSERT INTO fanfare.feedback_cursors (name, number, owner) VALUES ('hook', 0, 7);
            INSERT INTO fanfare.feedback (batch_id, number) VALUES (7::bigint << 32, nextval('fanfare.feedback_sequence')), (8::bigint << 32, NULL);
            INSERT INTO fanfare.report_counts VALUES (\(event), \(version), 0, 2, 1);
            INSERT INTO fanfare.report_stats VALUES ((now() AT TIME ZONE 'UTC')::date, \(version), 0, 2, 1);
            INSERT INTO fanfare.gate_stats SELECT id, 1, 5 FROM fanfare.gates;
            UPDATE fanfare.gates SET state = 'aborting' WHERE rule_id = (SELECT rule_id FROM fanfare.campaigns WHERE id = 3);
            SELECT fanfare.put_campaign('{"app": "shop", "name": "hidden", "audience_sql": "SELECT user_id FROM public.members",
                "message": {"data": {"a": "b"}}}');
            SELECT fanfare.take_campaign(4, 1, NULL, now());
            """
        )
        let targets = try world.connection.run(SQL.allTargets()).sorted { $0.id < $1.id }
        return Parts(
            event: event,
            keyed: keyed,
            version: Int32(version),
            tokensVersion: Int32(tokens),
            nativeVersion: Int32(native),
            collapsing: Int32(collapsing),
            unchecked: try world.connection.run(UncheckedRules())[0].id,
            device: device,
            token: token,
            target: batches[0].target,
            otherTarget: targets.first { $0.id != batches[0].target }!.id,
            batch: batches[0],
            plan: plan,
            slow: try world.connection.run(SQL.nextQuarantinedEvent([]))[0],
            question: try world.connection.run(SQL.lockQuestion(QueryChoice(ruleVersions: [], areTaken: false), 0))[0],
            backendPID: world.connection.backendPID
        )
    }

    private static func planning(_ parts: Parts) -> [any BoundStatement] {
        [
            PlanRound(floor: OutboxFloor(), limit: 10, batchSize: 1000),
            SQL.nextQuarantinedEvent([]),
            SQL.openQueries([parts.event], [parts.version]),
            SQL.lockQuestion(QueryChoice(ruleVersions: [], areTaken: false), 0),
            SQL.nextQuestion(QueryChoice(ruleVersions: [parts.version], areTaken: true)),
            SQL.areQuestionsDue(),
            SQL.planUsers(parts.question.eventID, parts.question.ruleVersion, "{u}", Int32(1000)),
            SQL.askLater(parts.question.eventID, parts.question.ruleVersion, 1, 1),
            SQL.endQuestion(parts.question.eventID, parts.question.ruleVersion, Int16(EventFate.refused.rawValue), "d"),
            SQL.storeAudienceFailure(parts.version, "e"),
            SQL.planQuarantinedEvent(parts.slow.xid, parts.slow.id, Int32(1000)),
            PlanPacedRound(round: PlanRound(floor: OutboxFloor(), limit: 10, batchSize: 1000)),
            PlanChosen(
                round: PlanRound(floor: OutboxFloor(), limit: 10, batchSize: 1000),
                choice: OutboxChoice(only: ["order"], except: ["other"], suspects: ["all": 1])
            ),
            SQL.outboxAhead(OutboxFloor(), 1),
            SQL.outboxProbe(OutboxFloor(), 1),
            SQL.outboxSizes(OutboxFloor(), 10, OutboxChoice()),
            SQL.eventTypeRuleCounts(),
            SQL.quarantinedEventRules(parts.slow.xid, parts.slow.id),
            SQL.quarantineEvents(OutboxFloor(), 10, OutboxChoice()),
            SQL.refuseQuarantinedEvent(parts.slow.xid, parts.slow.id, "d"),
            SQL.noteNewest([1], [parts.event]),
            SQL.newestEvents([5]),
            SQL.planNative([parts.event], [parts.nativeVersion], 1000),
            SQL.notePlanProblem(parts.event, "p"),
            SQL.planTopics([parts.event], [parts.version], ["news"], 1000, 1000),
            SQL.planDevices([parts.event], [parts.version], [parts.device], 1000, nil),
            SQL.registerTokens(parts.tokensVersion, #"{"payload": {"token": "\#(parts.token)"}}"#),
            SQL.openPlan(parts.event, parts.version, PlannedClause.json([PlannedClause(all: [], none: [])])),
            SQL.topicIDs(["news"]),
            SQL.planForUser(
                parts.event,
                parts.version,
                "u",
                PlannedClause.json([PlannedClause(all: [1], none: [2])]),
                1000
            ),
            LockPlan(),
            AdvancePlan(plan: parts.plan, cursor: parts.plan.lastDevice, deliveries: 0),
            SQL.areManyWaiting(parts.plan.app, parts.plan.lane, 100, [parts.plan.gate]),
        ]
    }

    private static func claiming(_ parts: Parts) -> [any BoundStatement] {
        [
            SQL.allTargets(),
            ClaimBatches(
                requests: [
                    BatchRequest(
                        target: parts.target,
                        queue: SendQueue(lane: .normal, isRetry: false),
                        count: 5,
                        floor: .minusInfinity
                    )
                ],
                owner: owner,
                leaseToken: 71
            ),
            ClaimGated(
                requests: [
                    BatchRequest(
                        gate: 1,
                        target: parts.target,
                        queue: SendQueue(lane: .bulk, isRetry: false),
                        count: 5,
                        floor: .minusInfinity
                    )
                ],
                owner: owner,
                leaseToken: 72
            ),
            ClaimPaced(
                gate: 5,
                requests: [
                    BatchRequest(
                        gate: 5,
                        target: parts.target,
                        queue: SendQueue(lane: .bulk, isRetry: false),
                        count: 5,
                        floor: .minusInfinity
                    )
                ],
                owner: owner,
                leaseToken: 73
            ),
            NextDue(places: [BatchPlace(gate: 0, target: parts.target, lane: .normal)]),
            RefundRate(gate: 5, deliveries: 1),
            NextPaced(places: [BatchPlace(gate: 5, target: parts.target, lane: .bulk)]),
            LiveGates(),
            SQL.liveRates(),
            SQL.liveQuiet(),
            SQL.liveReports(),
            SQL.lookAround("1:1:", "1:1:", owner),
            SQL.newPreferences(nil),
            FetchDevices(deviceIDs: [parts.device]),
            FetchDeviceRange(around: (0..<50).map { parts.device + $0 })!,
            FetchDeviceFields(deviceIDs: [parts.device]),
            FetchSuppressions(
                deviceIDs: [parts.device],
                target: parts.target,
                category: "c",
                now: Timestamp(microseconds: 0),
                goesByApp: false,
                hours: nil
            ),
            TakeCaps(target: parts.target, caps: [], users: ["u"], events: [1]),
            SettleGrants(events: [1], devices: [1], sentAt: [nil]),
            FetchEvents(day: Int16(EventID(rawValue: parts.event).ringDay), eventIDs: [parts.event]),
            FetchRuleVersions(ids: [parts.version]),
        ]
    }

    private static func recording(_ parts: Parts) -> [any BoundStatement] {
        let batch = parts.batch
        let outcomes = [UInt8](repeating: Outcome.retryingServerError.rawValue, count: batch.deviceIDs.count)
        let record = BatchRecord(id: batch.id, leaseToken: batch.leaseToken, outcomes: outcomes)
        let prune = Prune(
            batchID: batch.id,
            deviceID: parts.device,
            token: parts.token,
            registeredBefore: .infinity,
            reason: "r"
        )
        let correction = EnvironmentCorrection(
            batchID: batch.id,
            deviceID: parts.device,
            token: parts.token,
            from: parts.otherTarget,
            to: parts.target
        )
        let doubt = Doubt(batchID: batch.id, deviceID: parts.device, token: parts.token, rule: 1)
        let evidence = TokenEvidence(prunes: [prune], corrections: [correction], doubts: [doubt])
        return [
            Checkpoint(owner: owner, batches: [record], evidence: evidence),
            ReleaseBatches(owner: owner, batches: [record], evidence: evidence),
            CloseBatches(
                owner: owner,
                batches: [record],
                retries: [
                    RetryBatch(
                        parentID: batch.id,
                        target: parts.target,
                        history: .none,
                        delayMicroseconds: 1,
                        deviceIDs: batch.deviceIDs,
                        eventIDs: batch.eventID == nil ? batch.eventIDs : nil
                    )
                ],
                evidence: evidence,
                tallies: [OutcomeTally(batchID: batch.id, outcome: 35, deliveries: 1)]
            ),
        ]
    }

    private static func control(_ parts: Parts) -> [any BoundStatement] {
        let answers = AnswerSource(key: FuseKey(app: "shop", environment: "production"), provider: "apns")
        return [
            SQL.tryLock(AdvisoryLock.family, 99),
            SQL.unlock(AdvisoryLock.family, 99),
            SQL.beginSleep(),
            SQL.lockActivation(),
            SQL.endSleep(),
            FlushCommit(),
            EnterInstance(daemon: "d", host: "h", pid: 1, version: "v", leaseMicroseconds: 1, schemaVersion: 1),
            RenewLease(owner: 1, leaseMicroseconds: 1, leads: ["x"], report: "{}"),
            OtherInstances(owner: 99),
            SQL.sessionsAtWork([parts.backendPID]),
            SQL.storeBadgeFailure(parts.version, "no"),
            ReleaseClaims(claims: [DoubtfulClaim(owner: 99, leaseToken: 9)]),
            Rescue(dead: owner),
            NewCancels(since: "1:1:"),
            ShareAnswers(counts: [answers: PruneCounts(answers: 3, weak: 1, strong: 1)]),
            RecentAnswers(apps: ["shop"]),
            SQL.storedFuses(),
            BlowFuse(key: FuseKey(app: "shop", environment: "production"), strength: .weak),
            SQL.readInstallation(),
            SQL.enterTimeline(),
            SQL.isStandby(),
        ]
    }

    private static func maintenance(_ parts: Parts) -> [any BoundStatement] {
        let columns = RuleColumns(
            eventType: "e",
            whenPath: "$.a == 1",
            audience: "users",
            audiencePath: "$.u",
            devicesPath: "$.b == 2",
            kind: "device",
            provider: "apns",
            lane: 1,
            ttlSeconds: 60,
            supersede: false,
            enabled: true
        )
        return [
            SQL.foldReports(),
            SQL.foldStats(),
            SQL.forgetReportActions(30),
            SQL.forgetReportCounts(),
            SQL.forgetReportDevices(),
            SQL.forgetReports(7, 30),
            SQL.raiseChoreAlarm("fold_stats", "failed"),
            SQL.endChoreAlarms(["fold_stats"]),
            SQL.foldTraffic(),
            SQL.forgetTraffic(30),
            AddTraffic(counts: [.init(.fate, code: 1, count: 2)]),
            SQL.forgetAnswers(),
            SQL.forgetKeys(0),
            SQL.forgetCancels(0),
            SQL.forgetCollapseKeys(),
            SQL.creditConversions(), SQL.forgetTouches(), SQL.dueConversions(),
            SQL.storeConversions(1, [1], [Timestamp(microseconds: 0)], ["1.5"], Timestamp(microseconds: 0)),
            SQL.noteConversions(1, Timestamp(microseconds: 0), "a", "e"),
            SQL.experimentsDue(Timestamp(microseconds: 0)), SQL.settleExperiment(0, nil, "{}"),
            SQL.holdExperiment(0, "{}", "d", Timestamp(microseconds: 0)),
            SQL.forgetRetractions(0), SQL.forgetValues(0), SQL.forgetValuePaths(0),
            SQL.oldLogDays(30),
            SQL.isRingDayOver(3, Int32(clamping: 30)),
            SQL.forgetEvents(3, Int32(clamping: 30)),
            SQL.forgetBatches(3, Int32(clamping: 30)),
            EndBatches(),
            SweepGate(gate: 2), EndCancelled(since: nil),
            SQL.finishGates(),
            SQL.forgetGates(),
            SQL.campaignDrafts(),
            SQL.takeCampaign(1, 1, "{}", Timestamp(microseconds: 0)),
            SQL.refuseCampaign(1, 1, "r"),
            SQL.fireDue(Timestamp(microseconds: 0)), SQL.reschedule(Timestamp(microseconds: 0)),
            SQL.judgeCanaries(Timestamp(microseconds: 4_000_000_000_000_000)),
            SQL.nextCampaign(),
            GatherEvents(
                [GatheredEvent(eventID: 7, ruleID: 1, key: "k", pace: .digest(every: TimeSpan(seconds: 60)))],
                now: Timestamp(microseconds: 0)
            ),
            SQL.nextRetraction(),
            SQL.findByValue(Timestamp(microseconds: 0)),
            SQL.lockRetractions(Timestamp(microseconds: 0)),
            SQL.retractionMatches([1]),
            SQL.noteRetracted([1], [1], [parts.collapsing], ["id"], ["hash"], Timestamp(microseconds: 0)),
            SQL.sendRetractions(Timestamp(microseconds: 0), 1000),
            SQL.retractedDeliveries([parts.event], [parts.device], 1),
            SQL.nextOpenDigest(),
            SQL.emitDigests(Timestamp(microseconds: 0)),
            SQL.nextScheduled(), SQL.emitScheduled(10), SQL.forgetScheduledEvents(30),
            SQL.usersInPayload(parts.event, parts.version), SQL.divideByZone(parts.event, 1000),
            SQL.queryRuns(owner),
            SQL.takeQueryRun(owner),
            SQL.storeAudience(8, [1], ["v"], [nil]),
            SQL.emitPayloads(1, 0, ["{}"]),
            SQL.endQueryRun(50, owner, 9, nil),
            SQL.failQueryRun(51, owner, "d", 1),
            SQL.forgetAudiences(),
            SQL.findTrial(52),
            FetchVariables(eventIDs: [7], deviceIDs: [parts.device]),
            SQL.finishRuns(),
            SQL.testCampaign(RuleID(app: "shop", name: "due").app, RuleID(app: "shop", name: "due").name, ["u"]),
            SQL.forgetRuns(),
            SQL.retireShapes(30), SQL.endShapes(30),
            SQL.forgetGrants(),
            UncheckedRules(),
            ActivateRules(rules: [ActivatedRule(id: parts.unchecked, columns: columns)]),
            SQL.refuseRules([parts.unchecked], ["r"]),
            SQL.probePaths(columns.paths.map(\.text), columns.paths.map(\.isPredicate), RulePath.elements),
            SQL.storeForeignEvent("c", "{}"),
            SQL.storeMalformedEvent("c", "x"),
        ]
    }

    private static func feedback() -> [any BoundStatement] {
        let delivery = FeedbackDelivery(hook: "hook", owner: owner, number: 1)
        let place = FeedbackPlace(number: 1)
        return [
            SQL.feedbackHooks(["hook"]),
            SQL.putFeedbackHook("hook", [64], "shop"),
            SQL.takeFeedbackHook("hook", 8),
            SQL.releaseFeedbackHooks(owner, ["other"]),
            SQL.forgetFeedback(0),
            SQL.numberFeedback(),
            SQL.readFeedback(FeedbackPlace(number: 0), nil, nil, [35], nil),
            SQL.beginFeedback(delivery, place),
            SQL.advanceFeedback(delivery, place, true, 0),
            SQL.failFeedback(delivery, "no", 1, false),
            SQL.notifyFeedback("c", ["{}"]),
            SQL.listFeedbackHooks(),
            SQL.replayFeedback("hook", nil, "1970-01-01"),
            SQL.resumeFeedback("hook"),
            SQL.forgetFeedbackHook("hook"),
        ]
    }

    private static func audit(_ parts: Parts) -> [any BoundStatement] {
        [
            SQL.waitingEvents(-1_000_000),
            SQL.standingBatches(-1_000_000),
            SQL.openedCursors(),
            SQL.logLengths(),
            SQL.closedBatches(7, RowPlace(block: 0, row: 0).text),
            SQL.retriedDeliveries([1], [1]),
            SQL.storeFinding(AuditFinding(unplanned: [])),
        ]
    }

    private static func tools(_ parts: Parts) -> [any BoundStatement] {
        let epoch = Timestamp(microseconds: 0)
        let pruned = RestoreRequest(app: "shop", since: Since("1h"), reason: "Unregistered", environment: "production")
        return [
            SQL.listDevices(DeviceFilter()), SQL.listSubscribers(Self.ofNews),
            SQL.showDevice(parts.device),
            SQL.listTokens(
                FCMDeviceFilter(app: "shop").app,
                FCMDeviceFilter(app: "shop").topic,
                FCMDeviceFilter(app: "shop").users,
                0,
                10
            ),
            SQL.countTokens(
                FCMDeviceFilter(app: "shop").app,
                FCMDeviceFilter(app: "shop").topic,
                FCMDeviceFilter(app: "shop").users,
                0
            ),
            SQL.noteTopicChange("shop", "unsubscribe", "sport", [1], 0, "{}", true),
            SQL.findTopicChange("shop", "subscribe", "news", [2]), SQL.forgetTopicChanges(),
            SQL.registerDevice(DeviceRegistration(app: "shop", provider: "apns", token: "abcd")),
            SQL.importDevices("shop", #"[{"provider": "apns", "token": "abce"}]"#, false),
            SQL.noteImport("shop", [1], "devices.csv", 0, 1, "{}", false),
            SQL.findImport("shop", [2]), SQL.forgetImports(),
            SQL.exportDevices(Self.page), SQL.exportDevicesWithTokens(Self.page),
            SQL.unregisterDevice("shop", "apns", parts.token),
            SQL.unregisterDeviceByID("shop", parts.device),
            SQL.subscribeDevices([parts.device], "sport"),
            SQL.unsubscribeDevices([parts.device], "news"),
            SQL.appNames(), SQL.pruneReasons(),
            SQL.prunedSince(pruned.since.seconds, pruned.since.text),
            SQL.findPruned(PrunedDevices(pruned, since: epoch), 0, true),
            SQL.restoreDevices(PrunedDevices(pruned, since: epoch), Array(1...50)),
            SQL.tailStart(3600, nil),
            SQL.tailEvents(TailWindow(since: .minusInfinity, until: .infinity, seen: [])),
            SQL.tailPushes(TailWindow(since: .minusInfinity, until: .infinity, seen: []), nil, nil, nil),
            SQL.missingRoles(),
            SQL.hasRelation("fanfare.outbox"),
            SQL.schemaVersion(),
            SQL.isLoadedFrom("text"),
            SQL.serverEncoding(),
            SQL.publications(),
            SQL.hiddenTables(),
            SQL.adoptDatabase(nil),
            SQL.recordedIdentity(),
            SQL.actualIdentity(),
            SQL.listDaemons(),
            SQL.listQueues(),
            SQL.listHealth(),
            SQL.readyAges(),
            SQL.listLiveCampaigns(),
            SQL.closeFuses("shop", "sandbox"),
            SQL.databaseNow(),
            SQL.missingPrivileges(),
            SQL.hasAutovacuum(), SQL.unknownTimeZones(),
            SQL.sessionLimits(), SQL.authorsLimits(),
            SQL.limitEvents("shop", ["*"]),
            SQL.appUse(),
            SQL.judgeWhen(#"{"total": 11}"#, "$.total > 10"),
        ]
    }

    private static func toolsForAPI(_ parts: Parts) -> [any BoundStatement] {
        let hash = [UInt8](repeating: 1, count: 32)
        return [
            SQL.createAPIToken("new", hash, ["reader"], nil, 5, 60),
            SQL.listAPITokens(true),
            SQL.revokeAPIToken(1),
            SQL.noteTokenUse([1]),
            SQL.readCursorSecret(), SQL.endSession(1, Double(1)), SQL.isSessionEnded(1),
            SQL.claimRequest(1, "once"),
            SQL.findRequest(1, "once"),
            SQL.keepRequest(1, "again", hash, [1, 2]),
            SQL.forgetRequests(60),
            SQL.noteAction("new", 1, "x", nil, 1, "r", "why"),
            SQL.forgetActions(30),
            EmitEvents(
                types: ["a", "b"],
                payloads: ["{}", "{}"],
                keys: ["k", nil],
                ttlSeconds: [nil, 5],
                traces: [nil, TraceContext(stored: Array(repeating: 1, count: 25))],
                times: [nil, DueTime("4h")]
            ),
            SQL.showScheduled(1, nil), SQL.findScheduled(nil, nil, nil, nil, 0, 10, 100), SQL.eventOf(1),
            SQL.scheduledMessages("shop", nil, 0, 10),
            SQL.cancelMessage("shop", 1), SQL.moveMessage("shop", 1, nil, 60),
            SQL.moveScheduled(1, nil, 60, nil),
            SQL.sendMessage(message, nil),
            SQL.cancelEvent(parts.event),
            SQL.cancelEvents([parts.event]),
            SQL.cancelKey("order", "nokey"),
            SQL.retractEvent(parts.event, nil),
            SQL.retractKey("order", "nokey", "u"),
            SQL.retractedIDs("shop", "u", nil, nil),
            SQL.showEvent(parts.event),
            SQL.forgetUser("shop", "u"),
            SQL.devicesOfOthers([parts.device], "shop", "v"),
            SQL.limitDevices("shop", "u", 50),
            SQL.deviceOwner("shop", "apns", parts.token),
        ]
    }

    private static func toolsForRules(_ parts: Parts) -> [any BoundStatement] {
        let id = RuleID(app: "shop", name: "users")
        let newer = #"{"app": "shop", "name": "newer", "event": "e", "to": {"everyone": true}, "message": {}}"#
        return [
            SQL.storedRules(["shop"]),
            SQL.ruleErrors([newer, "{}"]),
            SQL.putRules([newer]),
            SQL.markRulesFromFile([id.app], [id.name]),
            SQL.areRulesUnchecked(["shop"]),
            SQL.dropRule(id.app, id.name),
            SQL.isDaemonAlive(),
        ]
    }

    private static func toolsForCampaigns(_ parts: Parts) -> [any BoundStatement] {
        let id = RuleID(app: "shop", name: "due")
        let newer = #"{"app": "shop", "name": "newer", "to": {"everyone": true}, "message": {"data": {"a": "b"}}}"#
        return [
            SQL.storedCampaigns(["shop"], nil),
            SQL.campaignErrors([newer, "{}"]),
            SQL.policyErrors([#"{"rate": "5"}"#, "{}"]),
            SQL.putPolicies(["shop"], ["{}"]),
            SQL.storedPolicies(nil),
            SQL.setPreference("shop", "u", "c", true),
            SQL.snoozeUser("shop", "u", nil, 5, "*"),
            SQL.reportKey(1),
            SQL.takeReports(.one),
            SQL.userPreferences("shop", "u"),
            SQL.replayEvent(parts.event, "u", nil, nil),
            SQL.whyRows(1, "u", nil),
            SQL.whyVerdicts(nil, "u", "shop"),
            SQL.putCampaigns([newer]),
            SQL.markCampaignsFromFile([id.app], [id.name]),
            SQL.areCampaignsUnchecked(["shop"]),
            CampaignTimes([.init(cronFields: nil, wall: "2999-01-01T09:00", timeZone: "UTC")], count: 3),
            NextRun(nil, catchUp: "latest", .new),
            SQL.lastRuns(id.app, id.name, 10),
            SQL.findRun(1),
            SQL.findCampaignRun(1),
            SQL.runningCampaigns(),
            SQL.countAttempts(2),
            SQL.startCampaign(
                RuleID(app: "shop", name: "by-hand").app,
                RuleID(app: "shop", name: "by-hand").name,
                "{}"
            ),
            SQL.pauseCampaign(id.app, id.name), SQL.resumeCampaign(id.app, id.name, nil),
            SQL.abortCampaign(id.app, id.name),
            SQL.dropCampaign(id.app, id.name),
        ]
    }

    private static func toolsForPages(_ parts: Parts) -> [any BoundStatement] {
        let (rule, epoch) = (RuleID(app: "shop", name: "users"), Timestamp(microseconds: 0))
        return [
            SQL.findEvents(nil, nil, "order", nil, "planned", 5, SearchBudget.events, "shop"),
            SQL.findWaiting("order", nil, "shop", 5, SearchBudget.events, epoch, nil, 9, parts.event),
            SQL.eventIDAt(epoch),
            SQL.eventsOfKey("k", nil),
            SQL.eventHead(parts.event),
            SQL.eventPushes(parts.event, 0, 0, nil, nil, 5, SearchBudget.batches),
            SQL.eventOutcomes(parts.event, 0, SearchBudget.counted),
            SQL.eventVariants(parts.event, 0, 20),
            SQL.eventRun(parts.event), SQL.eventFunnel(parts.event), SQL.eventLift(parts.event),
            SQL.ruleLift("shop", "chat", 7), SQL.countReportsPending(),
            SQL.ruleFunnel(rule.app, rule.name, 7), SQL.campaignFunnel("shop", "due", 5),
            SQL.eventEnds([parts.event]),
            SQL.unplannedEvents(),
            SQL.lastDeliveries(5),
            SQL.findNamed("Users"), SQL.ruleVariant(#"{"app": "shop", "name": "r"}"#, "u"),
            SQL.campaignActionLog("shop/due", 5),
            SQL.userPushes("u", nil, nil, 5, SearchBudget.pushes),
            SQL.listBacklog(),
            SQL.listUnsent([parts.event]),
            SQL.findDevices("shop", "apns", true, nil, nil, 5, Int64(SearchBudget.devices), epoch),
            SQL.userDevices("u", "shop"),
            SQL.sampleDevices(nil),
            SQL.ruleVersions(rule.app, rule.name, nil, 5),
            SQL.ruleOutcomes(rule.app, rule.name, 7),
            SQL.ruleWeeks([rule.app], [rule.name], 7),
            SQL.campaignHistory(RuleID(app: "shop", name: "due").app, RuleID(app: "shop", name: "due").name, nil, 5),
            SQL.canaryStanding(2),
            SQL.campaignWaves(2),
            SQL.outcomesOverTime(epoch, 60, "shop"),
            SQL.countsOverTime(TrafficKind.latency.rawValue, epoch, 600, nil),
            SQL.answersByReason(epoch, nil),
            SQL.outcomeMeanings(),
        ]
    }
}

extension SentReports {
    /// A report with a handle that does not verify.
    fileprivate static var one: SentReports {
        var reports = SentReports()
        let report = DeviceReport(handle: [1, 2], kind: .opened, action: "", text: "", at: nil)
        reports.append(report, app: "shop", device: 1, key: [], user: "u")
        return reports
    }
}
