import Foundation
import Testing

@testable import FanfareConsole

/// Tests of the style sheet, the script and the templates.
@Suite struct ConsoleAssetTests {
    private let styleSheet = String(decoding: ConsoleAssets.styleSheet, as: UTF8.self)
    private let script = String(decoding: ConsoleAssets.script, as: UTF8.self)

    @Test func everyTemplateIsThereAndIsUsed() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Sources/FanfareConsole/Assets").standardized
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter {
            $0.hasSuffix(".mustache")
        }
        #expect(Set(files.map { String($0.dropLast(9)) }) == Set(ConsoleAssets.sources.keys))
        var used = Set(Demo.all.map(\.template))
        for (name, source) in ConsoleAssets.sources {
            for match in source.matches(of: /\{\{[>&<]\s*([a-z-]+)\}\}/) {
                #expect(ConsoleAssets.sources[String(match.1)] != nil, "\(name) uses \(match.1)")
                used.insert(String(match.1))
            }
            // Only markup that this program drew is inserted unescaped; and indented partials cost time and change
            // texts.
            #expect(source.matches(of: /\{\{\{([^}]*)\}\}\}/).allSatisfy { $0.1.hasSuffix(".text") }, "\(name)")
            #expect(!source.contains("{{&") && source.firstMatch(of: /\n[ \t]+\{\{>/) == nil, "\(name)")
        }
        #expect(used == Set(ConsoleAssets.sources.keys))
    }

    @Test func theScriptIsSmallAndWritesNoHTMLButTheStreams() {
        #expect(ConsoleAssets.script.count < 12_000)
        #expect(script.matches(of: /innerHTML/).count == 1 && script.contains("part.innerHTML = html.createHTML(text)"))
        for word in [
            "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", "fetch(", "http://", "https://",
        ] {
            #expect(!script.contains(word), "\(word)")
        }
        for word in ["url(", "@import", "expression("] { #expect(!styleSheet.contains(word), "\(word)") }
    }

    /// WCAG 2.2, 1.4.3 and 1.4.11, in light and in the dark.
    @Test func coloursCanBeReadByEverybody() throws {
        let blocks = styleSheet.matches(of: /:root \{([^}]*)\}/).map { match in
            Dictionary(
                match.1.matches(of: /--([a-z-]+): #([0-9a-f]{6});/).map { (String($0.1), String($0.2)) },
                uniquingKeysWith: { $1 }
            )
        }
        let light = try #require(blocks.first)
        let dark = try #require(blocks.dropFirst().first)
        #expect(light.count > 25 && dark.count == light.count)
        let grounds = ["paper", "card", "sunk", "quiet-soft", "link-soft"]
        let states = ["good", "busy", "warn", "bad"]
        let texts =
            grounds.flatMap { [("ink", $0), ("soft", $0), ("link", $0)] }
            + states.flatMap { [($0, "\($0)-soft"), ($0, "card"), ("ink", "\($0)-soft"), ("link", "\($0)-soft")] }
            + [
                ("alarm-ink", "alarm"), ("card", "link"), ("brass", "card"), ("warn", "paper"), ("bad", "paper"),
                ("bad", "sunk"),
            ]
        let shapes =
            ["edge", "focus", "accepted", "retrying", "rejected", "gone", "own", "first", "second", "third"]
            .map { ($0, "card") } + [("edge", "paper"), ("focus", "paper")]
        for colours in [light, dark] {
            for (pairs, least) in [(texts, 4.5), (shapes, 3)] {
                for (ink, ground) in pairs {
                    let contrast = Self.contrast(
                        try #require(colours[ink], "\(ink)"),
                        try #require(colours[ground], "\(ground)")
                    )
                    #expect(contrast >= least, "\(ink) on \(ground): \(contrast)")
                }
            }
        }
    }

    @Test func thePolicyAllowsNothingInline() {
        #expect(ConsoleAssets.securityPolicy.hasPrefix("default-src 'none'; "))
        #expect(!ConsoleAssets.securityPolicy.contains("unsafe") && !ConsoleAssets.securityPolicy.contains("*"))
    }

    private static func contrast(_ one: String, _ other: String) -> Double {
        let (light, dark) = (max(luminance(one), luminance(other)), min(luminance(one), luminance(other)))
        return (light + 0.05) / (dark + 0.05)
    }

    private static func luminance(_ colour: String) -> Double {
        let number = Int(colour, radix: 16) ?? 0
        let parts = [number >> 16, number >> 8 & 255, number & 255].map { part -> Double in
            let share = Double(part) / 255
            return share <= 0.04045 ? share / 12.92 : pow((share + 0.055) / 1.055, 2.4)
        }
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
    }
}
