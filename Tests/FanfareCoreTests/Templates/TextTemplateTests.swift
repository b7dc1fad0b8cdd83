import FanfareCore
import Testing

struct TextTemplateTests {
    static let payload: JSONValue = [
        "order_id": 7, "total": .number(JSONNumber(1)), "name": "Ana <\"&'>", "vip": true, "free": false, "none": nil,
        "new": ["status": "shipped", "address": nil],
        "items": [["title": "Cup", "tags": ["x", "y"]], ["title": "Pen"]],
        "empty": [], "zero": "", "words": ["b", "a"], "big": .number(JSONNumber(Int64.max)),
    ]

    @Test(arguments: [
        ("plain } { text", "plain } { text"), ("Order {{order_id}}!", "Order 7!"), ("{{ order_id }}", "7"),
        ("{{{name}}} {{&name}} {{name}}", "Ana <\"&'> Ana <\"&'> Ana <\"&'>"), ("{{new.status}}", "shipped"),
        ("{{vip}} {{free}}", "true false"), ("{{zero}}", ""), ("{{uppercased(new.status)}}", "SHIPPED"),
        ("{{count(items)}}", "2"), ("{{reversed(uppercased(new.status))}}", "DEPPIHS"), ("{{plusone(order_id)}}", "8"),
        ("{{event.type}} {{event.id}}", "order.shipped 10806137716743"), ("{{first(words)}}", "b"),
        ("{{#vip}}VIP{{/vip}}{{^vip}}no{{/vip}}", "VIP"), ("{{#free}}x{{/free}}", ""), ("{{#gone}}x{{/gone}}-", "-"),
        ("{{^gone}}x{{/gone}}", "x"), ("{{#none}}x{{/none}}{{^none}}y{{/none}}", "y"),
        ("{{#items}}{{title}},{{/items}}", "Cup,Pen,"), ("{{#items}}{{name}}{{/items}}", "Ana <\"&'>Ana <\"&'>"),
        ("{{#words}}{{.}}{{^last()}}, {{/last()}}{{/words}}", "b, a"),
        ("{{#sorted(words)}}{{.}}{{/sorted(words)}}", "ab"),
        ("{{#words}}{{index()}}{{/words}}", "01"), ("{{#new}}{{.status}}{{/new}}", "shipped"),
        ("{{^empty}}e{{/empty}}", "e"),
        ("{{#coupon}}{{coupon}}{{/coupon}}{{coupon}}.", "."), ("a{{! note }}b", "ab"), ("{{#zero}}z{{/zero}}", "z"),
        ("{{#items}}{{#tags}}{{.}}{{/tags}}{{^tags}}-{{/tags}}{{/items}}", "xy-"),
        ("{{#event}}{{type}}{{/event}}", "order.shipped"),
        ("{{#new.status}}s{{/new.status}}{{^new.other}}o{{/new.other}}", "so"), ("  {{#vip}}  x  {{/vip}}", "    x  "),
        ("{{#vip}}\nline {{order_id}}\n{{/vip}}\nend", "line 7\nend"), ("{{#enumerated(new)}}{{/enumerated(new)}}", ""),
    ])
    func renders(template: String, expected: String) throws {
        #expect(try TextTemplate(template).text(event(Self.payload)) == expected)
    }

    @Test(
        arguments: [
            ("{{missing}}", .missing(name: "missing")), ("a {{new.other}}", .missing(name: "new.other")),
            ("{{none}}", .missing(name: "none")), ("{{new.address}}", .missing(name: "new.address")),
            ("{{order_id.x}}", .missing(name: "order_id.x")), ("{{items}}", .notText(name: "items")),
            ("{{new}} x", .notText(name: "new")), ("{{event.key}}", .missing(name: "event.key")),
            ("{{uppercased(order_id)}}", .transform(name: "order_id", transform: "uppercased")),
            ("{{first(empty)}}", .transform(name: "empty", transform: "first")),
            ("{{plusone(big)}}", .transform(name: "big", transform: "plusone")),
            ("{{#vip}}{{missing}}{{/vip}}", .missing(name: "missing")),
            ("{{#items}}{{nope}}{{/items}}", .missing(name: "nope")),
            ("{{#items}}{{new.other}}{{/items}}", .missing(name: "new.other")),
            ("{{#items}}{{.name}}{{/items}}", .missing(name: ".name")),
            ("{{#items}}{{.}}{{/items}}", .notText(name: ".")),
            ("{{#new}}{{address}}{{/new}}", .missing(name: "address")),
            ("{{#items}}{{uppercased(tags)}}{{/items}}", .transform(name: "tags", transform: "uppercased")),
            ("{{device.locale}}", .missing(name: "device.locale")),
        ] as [(String, RenderProblem)]
    )
    func refusesToRender(template: String, problem: RenderProblem) throws {
        let template = try TextTemplate(template)
        #expect(throws: problem) { try template.text(event(Self.payload)) }
    }

    @Test(arguments: [
        ("{{> footer}}", "{{> footer}}", "is a partial"), ("a{{<base}}b", "{{<base}}", "is template inheritance"),
        ("{{$title}}x{{/title}}", "{{$title}}", "is template inheritance"),
        ("{{=<% %>=}}", "{{=<% %>=}}", "changes the delimiters"),
        ("{{% CONTENT_TYPE:HTML}}", "{{% CONTENT_TYPE:HTML}}", "is a pragma"),
        ("{{upercased(x)}}", "{{upercased(x)}}", "uses an unknown transform"), ("{{x", "{{x", "is not closed"),
        ("{{{x}}", "{{{x}}", "is not closed"), ("{{#a}}x", "{{#a}}", "is not closed"),
        ("x{{/a}}", "{{/a}}", "closes a section that was not opened"),
        ("{{#a}}{{#b}}{{/a}}{{/b}}", "{{/a}}", "does not close {{#b}}"),
        ("{{}}", "{{}}", "has no name"), ("{{a b}}", "{{a b}}", "has a name that Mustache cannot read"),
        ("{{*x}}", "{{*x}}", "has a name that Mustache cannot read"),
        ("{{ #a}}", "{{ #a}}", "has a name that Mustache cannot read"),
        ("{{a..b}}", "{{a..b}}", "has an empty part in its name"),
        ("{{count(x}}", "{{count(x}}", "has an opening bracket without its closing one"),
        ("{{.}}", "{{.}}", "names the current element, outside of any section"),
        ("{{index()}}", "{{index()}}", "is a position in a list, outside of any section"),
        ("{{#a}}{{nope()}}{{/a}}", "{{nope()}}", "uses an unknown transform"),
        ("{{ñ}}", "{{ñ}}", "has a name that Mustache cannot read"),
        (String(repeating: "{{#a}}", count: 9), "{{#a}}", "is the 9th section inside another"),
    ])
    func refusesAtSave(template: String, tag: String, reason: String) {
        let problem = #expect(throws: TemplateProblem.self) { try TextTemplate(template) }
        #expect(problem?.tag == tag)
        #expect(problem?.reason == reason)
        #expect(problem?.hint.isEmpty == false)
    }

    /// swift-mustache renders templates with sections; texts and variables alone are rendered by Fanfare's own code.
    @Test(arguments: 0..<100 as Range<UInt64>)
    func bothWaysOfRenderingAgree(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let pieces = [
            "{{order_id}}", "{{{name}}}", "{{& vip}}", "{{new.status}}", "{{gone}}", "{{items}}", "{{none}}", "}} {",
            "ñ🦊", "x\n x",
        ]
        let chosen =
            (0..<5).map { _ in pieces.randomElement(using: &generator) ?? "" }.joined(separator: "·")
            + ["", " ", " {", "\n  "][Int(seed % 4)]
        let quick = try TextTemplate(chosen)
        let thorough = try TextTemplate("{{#vip}}{{/vip}}" + chosen)
        #expect(rendering(of: quick) == rendering(of: thorough))
    }

    @Test func suggestsTheTransformThatWasMeant() {
        let problem = #expect(throws: TemplateProblem.self) { try TextTemplate("{{upercased(x)}}") }
        #expect(problem?.hint == "did you mean 'uppercased'?")
    }

    @Test(
        arguments: [
            ("{{order_id}}", 7), ("{{vip}}", true), ("{{{new}}}", ["status": "shipped", "address": nil]),
            ("{{count(items)}}", 2), ("{{order_id}} ", "7 "), ("{{zero}}", ""),
        ] as [(String, JSONValue)]
    )
    func aSoleTagKeepsItsType(template: String, expected: JSONValue) throws {
        #expect(try TextTemplate(template).value(event(Self.payload)) == expected)
    }

    @Test func listsItsNames() throws {
        let template = try TextTemplate("{{a}}{{#b}}{{c.d}}{{b}}{{/b}}{{a}}{{user.id}}")
        #expect(template.requiredNames == ["a", "c.d", "user.id"])
        #expect(template.optionalNames == ["b"])
        #expect(template.usesDevice)
        #expect(try !TextTemplate("{{users}} {{new.device}}").usesDevice)
        #expect(try TextTemplate("{{#device.locale}}x{{/device.locale}}").usesDevice)
    }

    @Test func devicesAndTheirUsers() throws {
        var attributes = JSONObject()
        attributes["tier"] = "gold"
        let device = DeviceContext(deviceID: 5, userID: "u", locale: "es", attributes: attributes)
        let template = try TextTemplate("{{device.id}} {{user.id}} {{device.locale}} {{device.attributes.tier}}")
        #expect(try template.text(event(), device: device) == "5 u es gold")
        #expect(throws: RenderProblem.missing(name: "device.time_zone")) {
            try TextTemplate("{{device.time_zone}}").text(event(), device: device)
        }
    }

    @Test func thePayloadHidesFanfaresOwnNames() throws {
        let payload: JSONValue = ["event": ["id": "mine"], "user": ["id": "theirs"]]
        #expect(try TextTemplate("{{event.id}} {{user.id}}").text(event(payload)) == "mine theirs")
        #expect(throws: RenderProblem.missing(name: "event.type")) {
            try TextTemplate("{{event.type}}").text(event(payload))
        }
    }

    @Test func sectionsThatRepeatEachOtherAreBounded() throws {
        let list = JSONValue.array([JSONValue](repeating: "x", count: 300))
        let template = try TextTemplate("{{#l}}{{#l}}{{#l}}{{.}}{{/l}}{{/l}}{{/l}}")
        #expect(throws: RenderProblem.tooManySteps(limit: 65_536)) { try template.text(event(["l": list])) }
    }

    /// A text is limited to 64 KiB with any kind of repetition; literal text between tags counts like variables.
    @Test(arguments: [
        "{{#l}}{{long}} {{/l}}", "{{#l}}{{#l}}{{long}}{{/l}}{{/l}}", "{{#l}}{{#l}}LITERAL{{/l}}{{/l}}",
        "{{#l}}{{^none}}LITERAL{{/none}}{{/l}}", "{{#l}}{{#flag}}LITERAL{{/flag}}{{/l}}",
        "{{#l}}{{#first()}}LITERAL{{/first()}}{{^first()}}LITERAL{{/first()}}{{/l}}",
        "{{long}}{{long}}{{long}}{{long}}{{long}}{{long}}{{long}}",
        "{{#flag}}{{long}}{{long}}{{long}}{{long}}{{/flag}}",
    ])
    func aTextIsBoundedWhileItIsRendered(source: String) throws {
        let list = JSONValue.array([JSONValue](repeating: "x", count: 200))
        let long = String(repeating: "l", count: 20_000)
        let template = try TextTemplate(source.replacing("LITERAL", with: long))
        #expect(throws: RenderProblem.tooLong(limit: 65_536)) {
            try template.text(event(["l": list, "long": .string(long), "flag": true]))
        }
    }

    @Test func aTextMayHaveAllThatFits() throws {
        let template = try TextTemplate("{{#l}}{{.}}{{#l}}{{.}}{{/l}}{{/l}}")
        let list = JSONValue.array(
            [JSONValue](repeating: .string(String(repeating: "x", count: 65_536 / 240)), count: 15)
        )
        #expect(try template.text(event(["l": list])).utf8.count == 65_536 / 240 * 240)
    }

    /// A section's output is counted before it is repeated, and so is the input of a transform.
    @Test(arguments: [
        "{{#l}}{{#l}}{{/l}}{{/l}}", "{{#l}}\(String(repeating: "{{e}}", count: 500)){{/l}}",
        "{{#l}}{{#empty(reversed(long))}}{{/empty(reversed(long))}}{{/l}}",
    ])
    func workIsBoundedToo(source: String) throws {
        let list = JSONValue.array([JSONValue](repeating: "x", count: 300))
        let template = try TextTemplate(source)
        #expect(throws: RenderProblem.tooManySteps(limit: 65_536)) {
            try template.text(event(["l": list, "e": "", "long": .string(String(repeating: "l", count: 60_000))]))
        }
    }

    @Test func isSafeToShareBetweenThreads() async throws {
        let template = try TextTemplate("{{#items}}{{title}}{{^last()}}, {{/last()}}{{/items}} for {{n}}")
        await withTaskGroup(of: Bool.self) { group in
            for n in 0..<50 {
                group.addTask {
                    let payload: JSONValue = ["items": [["title": "A"], ["title": "B"]], "n": .number(JSONNumber(n))]
                    return (try? template.text(event(payload))) == "A, B for \(n)"
                }
            }
            for await isRight in group { #expect(isRight) }
        }
    }

    @Test func problemsNeverHoldValues() throws {
        let payload: JSONValue = ["secret": ["s3cret"], "word": "s3cret"]
        for source in ["{{secret}}", "{{plusone(word)}}", "{{word.x}}"] {
            let problem = #expect(throws: RenderProblem.self) { try TextTemplate(source).text(event(payload)) }
            #expect(problem.map { "\($0)".contains("s3cret") } == false)
        }
    }

    private func rendering(of template: TextTemplate) -> Result<String, RenderProblem> {
        do throws(RenderProblem) {
            return .success(try template.text(event(Self.payload)))
        } catch {
            return .failure(error)
        }
    }
}
