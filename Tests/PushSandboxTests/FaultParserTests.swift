import Testing

@testable import PushSandbox

struct FaultParserTests {
    @Test(arguments: [
        ("", "faults: not JSON"),
        ("{}", "faults: must be a list"),
        ("[1]", "faults[0]: must be an object"),
        (#"[{"do": "refuse"}, {}]"#, "faults[1].do: is missing"),
        (#"[{"do": "explode"}]"#, "faults[0].do: must be one of status, goaway"),
        (#"[{"do": 1}]"#, "faults[0].do: must be a string"),
        (#"[{"do": "refuse", "matsch": {}}]"#, "faults[0].matsch: is unknown"),
        (#"[{"do": "refuse", "match": "x"}]"#, "faults[0].match: must be an object"),
        (#"[{"do": "refuse", "match": {"token": "("}}]"#, "faults[0].match.token: is not a regular expression"),
        (#"[{"do": "refuse", "match": {"share": 1.5}}]"#, "faults[0].match.share: must be a number from 0 to 1"),
        (#"[{"do": "refuse", "match": {"share": true}}]"#, "faults[0].match.share: must be a number"),
        (#"[{"do": "refuse", "match": {"salt": "x"}}]"#, "faults[0].match.salt: needs share"),
        (#"[{"do": "refuse", "match": {"shared": 1}}]"#, "faults[0].match.shared: is unknown"),
        (#"[{"do": "refuse", "provider": "pigeon"}]"#, "faults[0].provider: must be one of apns"),
        (#"[{"do": "refuse", "environment": "prod"}]"#, "faults[0].environment: must be one of production, sandbox"),
        (#"[{"do": "refuse", "times": 0}]"#, "faults[0].times: must be an integer from 1"),
        (#"[{"do": "refuse", "total": "3"}]"#, "faults[0].total: must be an integer"),
        (#"[{"do": "status"}]"#, "faults[0].status: is missing"),
        (#"[{"do": "status", "reason": "Teapot"}]"#, "faults[0].status: is missing"),
        (
            #"[{"do": "status", "provider": "fcm", "reason": "BadDeviceToken"}]"#,
            "faults[0].status: is missing, and reason is none of fcm's"
        ),
        (#"[{"do": "stream_limit", "value": 1, "provider": "fcm"}]"#, "faults[0].provider: is unknown"),
        (#"[{"do": "status", "status": 99}]"#, "faults[0].status: must be an integer from 200 to 599"),
        (
            #"[{"do": "status", "status": 410, "timestamp_ms": 1, "timestamp_age_ms": 1}]"#,
            "faults[0].timestamp_ms: excludes"
        ),
        (#"[{"do": "status", "status": 429, "retry_after": true}]"#, "faults[0].retry_after: must be"),
        (#"[{"do": "status", "status": 500, "ms": 4}]"#, "faults[0].ms: is unknown"),
        (#"[{"do": "goaway", "last_stream": "beside"}]"#, "faults[0].last_stream: must be one of below, at, above"),
        (#"[{"do": "goaway", "answer": true}]"#, "faults[0].answer: a request above"),
        (#"[{"do": "goaway", "debug": 4}]"#, "faults[0].debug: must be an object or text"),
        (#"[{"do": "reset", "code": "OOPS"}]"#, "faults[0].code: must be a number or one of NO_ERROR"),
        (#"[{"do": "slow"}]"#, "faults[0].ms: is missing"),
        (#"[{"do": "close", "at": "end"}]"#, "faults[0].at: must be one of body, headers"),
        (#"[{"do": "stream_limit"}]"#, "faults[0].value: is missing"),
        (#"[{"do": "stream_limit", "value": 1, "times": 1}]"#, "faults[0].times: is unknown"),
        (#"[{"do": "window"}]"#, "faults[0].value: is missing"),
        (#"[{"do": "window", "value": 2147483648}]"#, "faults[0].value: must be an integer from 0 to 2147483647"),
        (#"[{"do": "window", "value": 0, "match": {}}]"#, "faults[0].match: is unknown"),
    ])
    func aMistakeIsNamedWithIndexAndField(json: String, message: String) {
        let error = #expect(throws: SandboxError.self) { try FaultParser.parse(Array(json.utf8)) }
        #expect(error?.code == .malformedFaults)
        #expect(error?.description.hasPrefix(message) == true, "\(error?.description ?? "")")
    }

    @Test func everyKindIsUnderstood() throws {
        let faults = try FaultParser.parse(
            Array(
                #"""
                [{"do": "status", "status": 503, "match": {"token": "^00", "share": 0.5, "salt": "s"},
                  "provider": "apns", "environment": "sandbox", "skip": 2, "times": 3, "total": 4},
                 {"do": "goaway"}, {"do": "refuse"}, {"do": "reset"}, {"do": "silence"}, {"do": "slow", "ms": 5},
                 {"do": "close"}, {"do": "stream_limit", "value": 7}, {"do": "window", "value": 0}]
                """#.utf8
            )
        )
        #expect(
            faults.map(\.action.label)
                == ["status", "goaway", "refuse", "reset", "silence", "slow", "close", "stream_limit", "window"]
        )
        let first = try #require(faults.first)
        #expect(first.share == 0.5)
        #expect(first.salt == "s")
        #expect(first.environment == .sandbox)
        #expect([first.skip, first.timesPerToken, first.total] == [2, 3, 4])
    }

    @Test func aRefusedListLeavesTheOldFaultsInForce() throws {
        let plan = FaultPlan()
        let good = Array(#"[{"do": "refuse"}]"#.utf8)
        try plan.replace(good)
        #expect(throws: SandboxError.self) { try plan.replace(Array("[{}]".utf8)) }
        #expect(plan.source == good)
        #expect(!plan.isEmpty)
        plan.clear()
        #expect(plan.isEmpty)
    }
}
