import FanfareCore
import Testing

struct CronExpressionTests {
    /// Returns a schedule as `minutes | hours | days | months | weekdays`, with `*` for all possible values.
    private func lists(_ expression: CronExpression) -> String {
        let fields: [([Int], ClosedRange<Int>)] = [
            (expression.minutes, 0...59), (expression.hours, 0...23), (expression.days, 1...31),
            (expression.months, 1...12), (expression.weekdays, 0...6),
        ]
        return fields.map { $0 == Array($1) ? "*" : $0.map(String.init).joined(separator: " ") }.joined(
            separator: " | "
        )
    }

    @Test(
        arguments: [
            ("* * * * *", "* | * | * | * | *"), ("0 9 * * mon", "0 | 9 | * | * | 1"),
            ("*/15 8-11 1,15 * *", "0 15 30 45 | 8 9 10 11 | 1 15 | * | *"),
            ("10-50/20 */6 * * *", "10 30 50 | 0 6 12 18 | * | * | *"),
            ("5,1-3,2 00,23 * * *", "1 2 3 5 | 0 23 | * | * | *"),
            ("0-59/60 0 31 1-12/2 *", "0 | 0 | 31 | 1 3 5 7 9 11 | *"),
            ("0 0 * JAN,Dec *", "0 | 0 | * | 1 12 | *"), ("0 0 * jun-aug *", "0 | 0 | * | 6 7 8 | *"),
            ("0 0 * * 7", "0 | 0 | * | * | 0"), ("0 0 * * 5-7", "0 | 0 | * | * | 0 5 6"),
            ("0 0 * * Mon-fri/2", "0 | 0 | * | * | 1 3 5"), ("0 0 * * 0-7", "0 | 0 | * | * | *"),
            ("0 0 * * */2", "0 | 0 | * | * | 0 2 4 6"), ("0 0 * * */7", "0 | 0 | * | * | 0"),
            ("\t0  0\t* * sun \n", "0 | 0 | * | * | 0"), ("*,5 0 * * *", "* | 0 | * | * | *"),
            ("@hourly", "0 | * | * | * | *"), ("@daily", "0 | 0 | * | * | *"), ("@midnight", "0 | 0 | * | * | *"),
            ("@weekly", "0 | 0 | * | * | 0"), ("@monthly", "0 | 0 | 1 | * | *"), ("@yearly", "0 | 0 | 1 | 1 | *"),
            (" @Annually ", "0 | 0 | 1 | 1 | *"),
        ]
    )
    func lists(source: String, expected: String) throws {
        #expect(lists(try CronExpression(source)) == expected)
    }

    @Test(
        arguments: [
            ("0 9 1 * mon", true), ("0 9 1-31 * 0-6", true), ("0 9 1 * *", false), ("0 9 * * mon", false),
            ("0 9 */2 * mon", false), ("0 9 1 * */2", false), ("0 9 1,* * mon", true), ("0 9 *,1 * mon", false),
        ]
    )
    func eitherDaySufficesWhereBothAreRestricted(source: String, anyDay: Bool) throws {
        #expect(try CronExpression(source).anyDay == anyDay)
    }

    @Test(
        arguments: [
            ("* * * * *", true), ("*/15 9 * * *", true), ("0 * * * *", true), ("30 */2 * * *", true), ("@hourly", true),
            ("0-59 0-23 * * *", false), ("0,* 9 * * *", false), ("0 9 * * *", false), ("@daily", false),
        ]
    )
    func whatGoesByElapsedTime(source: String, isWild: Bool) throws {
        #expect(try CronExpression(source).isWild == isWild)
    }

    @Test(
        arguments: [
            ("60 * * * *", "minute: '60' is not a valid minute; use 0 to 59"),
            ("-1 * * * *", "minute: '-1' is not a valid minute; use 0 to 59"),
            ("1- * * * *", "minute: '1-' is not a valid minute; use 0 to 59"),
            ("1-2-3 * * * *", "minute: '2-3' is not a valid minute; use 0 to 59"),
            ("*-5 * * * *", "minute: '*' is not a valid minute; use 0 to 59"),
            ("٣ * * * *", "minute: '٣' is not a valid minute; use 0 to 59"),
            ("99999999999999999999 * * * *", "minute: '99999999999999999999' is not a valid minute; use 0 to 59"),
            ("* 24 * * *", "hour: '24' is not a valid hour; use 0 to 23"),
            ("* noon * * *", "hour: 'noon' is not a valid hour; use 0 to 23"),
            ("* * 0 * *", "day: '0' is not a valid day; use 1 to 31"),
            ("* * 1-32 * *", "day: '32' is not a valid day; use 1 to 31"),
            ("* * L * *", "day: 'L' is not a valid day; use 1 to 31"),
            ("* * ? * *", "day: '?' is not a valid day; use 1 to 31"),
            ("* * * 0 *", "month: '0' is not a valid month; use 1 to 12, or jan to dec"),
            ("* * * mon *", "month: 'mon' is not a valid month; use 1 to 12, or jan to dec"),
            ("* * * * 8", "weekday: '8' is not a valid weekday; use 0 to 7 (0 and 7 are Sunday), or sun to sat"),
            (
                "* * * * monday",
                "weekday: 'monday' is not a valid weekday; use 0 to 7 (0 and 7 are Sunday), or sun to sat"
            ),
            ("*/0 * * * *", "minute: '0' is not a step; use 1 to 60"),
            ("*/90 * * * *", "minute: '90' is not a step; use 1 to 60"),
            ("* */-2 * * *", "hour: '-2' is not a step; use 1 to 24"),
            ("* 0-9/ * * *", "hour: '' is not a step; use 1 to 24"),
            ("* * * * */8", "weekday: '8' is not a step; use 1 to 7"),
            ("*/2/2 * * * *", "minute: '2/2' is not a step; use 1 to 60"),
            ("5/10 * * * *", "minute: '5/10' has a step without a range; write 5-59/10"),
            ("* 22-2 * * *", "hour: '22-2' runs backwards; write 22-23,0-2"),
            ("* 23-1 * * *", "hour: '23-1' runs backwards; write 23,0-1"),
            ("* * * nov-jan *", "month: 'nov-jan' runs backwards; write 11-12,1"),
            ("* * * * fri-sun", "weekday: 'fri-sun' runs backwards; write 5-7"),
            ("* * * * sat-mon", "weekday: 'sat-mon' runs backwards; write 6,0-1"),
            ("1,,2 * * * *", "minute: a comma without a value beside it; remove it"),
            ("* 1, * * *", "hour: a comma without a value beside it; remove it"),
        ]
    )
    func refusesAField(source: String, expected: String) {
        let problem = #expect(throws: CronProblem.self) { try CronExpression(source) }
        #expect(problem?.description == expected)
        #expect(problem?.field?.rawValue == String(expected.prefix { $0 != ":" }))
    }

    @Test(
        arguments: [
            ("", "0 fields; write five: minute, hour, day of the month, month and weekday"),
            ("mon", "1 field; write five: minute, hour, day of the month, month and weekday"),
            ("0 9 * *", "4 fields; write five: minute, hour, day of the month, month and weekday"),
            (
                "0 0 9 * * *",
                "6 fields; write five: minute, hour, day of the month, month and weekday; there is none for seconds or years"
            ),
            ("@reboot", "'@reboot' is not a time; daemons come and go; write when, such as 0 9 * * mon or @daily"),
            (
                "@fortnightly",
                "'@fortnightly' is not a schedule; use @hourly, @daily, @midnight, @weekly, @monthly, @yearly or @annually, "
                    + "or five fields"
            ),
            (
                "@daily 9",
                "'@daily 9' is not a schedule; use @hourly, @daily, @midnight, @weekly, @monthly, @yearly or @annually, "
                    + "or five fields"
            ),
        ]
    )
    func refusesTheWhole(source: String, expected: String) {
        let problem = #expect(throws: CronProblem.self) { try CronExpression(source) }
        #expect(problem?.description == expected)
        #expect(problem?.field == nil)
    }

    @Test(
        arguments: [
            ("0 0 31 2 *", "no such day: February has 29 at most", "use a day up to 29, or other months"),
            ("0 0 30,31 feb *", "no such day: February has 29 at most", "use a day up to 29, or other months"),
            ("0 0 31 4,2 *", "no such day: February and April have 30 at most", "use a day up to 30, or other months"),
            (
                "0 0 31 4,6,9,11 */2", "no such day: April, June, September and November have 30 at most",
                "use a day up to 30, or other months"
            ),
        ]
    )
    func refusesDaysThatNeverCome(source: String, reason: String, hint: String) {
        let problem = #expect(throws: CronProblem.self) { try CronExpression(source) }
        #expect(problem?.field == .day)
        #expect(problem?.reason == reason)
        #expect(problem?.hint == hint)
    }

    @Test(arguments: ["0 0 29 2 *", "0 0 31 1,2 *", "0 0 31 2 mon", "0 0 31 * *", "0 0 29 2 */7"])
    func takesDaysThatComeNowAndThen(source: String) {
        #expect(throws: Never.self) { try CronExpression(source) }
    }

    @Test func isKeptAsTheParametersOfNextTime() throws {
        let text =
            #"{"minutes":[0,30],"hours":[9],"days":[1],"months":[2],"weekdays":[0,6],"any_day":true,"wild":false}"#
        #expect(try CronExpression("*/30,0 9 1 2 6-7").isWild)
        #expect(try CronExpression("0-59/30 9 1 2 6-7").json.text == text)
    }

    /// Any text is either rejected with a remedy or gives lists that the database can use.
    @Test(arguments: 0..<20 as Range<UInt64>) func listsAscendWhateverIsWritten(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let pieces = ["*", "0", "1", "5", "7", "12", "31", "-", "-", "/", "/", ",", ",", "mon", "sun", "feb", "L", "é"]
        var taken = 0
        for _ in 0..<200 {
            let field = {
                (0..<Int.random(in: 1...4, using: &generator)).map { _ in pieces.randomElement(using: &generator) ?? ""
                }.joined()
            }
            var fields = ["*", "*", "*", "*", "*"]
            fields[Int.random(in: 0..<5, using: &generator)] = field()
            let text = fields.joined(separator: " ")
            do throws(CronProblem) {
                let expression = try CronExpression(text)
                taken += 1
                for list in [
                    expression.minutes, expression.hours, expression.days, expression.months, expression.weekdays,
                ] {
                    #expect(!list.isEmpty && zip(list, list.dropFirst()).allSatisfy { $0 < $1 }, "\(text)")
                }
                #expect(expression.weekdays.allSatisfy { (0...6).contains($0) }, "\(text)")
            } catch {
                #expect(!error.reason.isEmpty && !error.hint.isEmpty, "\(text)")
            }
        }
        #expect(taken > 0)
    }
}
