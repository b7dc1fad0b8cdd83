import Testing

@testable import FanfareCore

struct NearestNameTests {
    private let names = ["level", "format", "deliveries"]

    @Test(arguments: [("levle", "level"), ("Formats", "format"), ("delivery", "deliveries")])
    func nearNamesAreSuggested(written: String, meant: String) {
        #expect(NearestName.suggestion(for: written, among: names) == meant)
        #expect(NearestName.hint(for: written, among: names) == "did you mean '\(meant)'?")
    }

    @Test func whereNoneIsNearAllAreNamed() {
        #expect(NearestName.suggestion(for: "colour", among: names) == nil)
        #expect(NearestName.hint(for: "colour", among: names) == "known are level, format, deliveries")
    }

    @Test(arguments: [("abc", "", 3), ("abcd", "acbd", 1), ("abc", "abc", 0), ("abc", "xbcd", 2)])
    func distanceCountsLetters(left: String, right: String, distance: Int) {
        #expect(NearestName.distance(left, right) == distance)
    }
}
