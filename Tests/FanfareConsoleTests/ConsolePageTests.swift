import Foundation
import Testing

@testable import APIKit
@testable import FanfareConsole
@testable import FanfareConsoleView

/// Renders the pages from their templates, without a database.
@Suite struct ConsolePageTests {
    private let templates: ConsoleTemplates

    init() throws {
        templates = try ConsoleTemplates(ConsoleAssets.sources)
    }

    @Test func everyPageIsWellFormedAndNeedsNothingInline() throws {
        for (name, template, context) in Demo.all {
            let page = HTMLScan(templates.render(template, context))
            #expect(page.problems.isEmpty, "\(name)")
            #expect(page.elements.count > 20, "\(name)")
            for element in page.elements {
                for attribute in element.attributes {
                    #expect(attribute.name != "style" && !attribute.name.hasPrefix("on"), "\(name): \(element)")
                }
                #expect(
                    !["style", "iframe", "object", "embed", "base", "img"].contains(element.name),
                    "\(name): \(element)"
                )
                if element.name == "script" {
                    #expect(element["src"]?.hasPrefix("/ops/fanfare/console/console.js?v=") == true)
                }
                if let href = element["href"] {
                    #expect(href.hasPrefix("/ops/fanfare/") || href == "#main", "\(name): \(href)")
                }
                if element.name == "form", element["method"] != "dialog" {
                    #expect(element["action"]?.hasPrefix("/ops/fanfare/") == true, "\(name)")
                }
            }
        }
    }

    @Test func everyPageCanBeUsedWithoutSeeingIt() throws {
        for (name, template, context) in Demo.all {
            let page = HTMLScan(templates.render(template, context))
            let ids = page.elements.compactMap { $0["id"] }
            #expect(Set(ids).count == ids.count, "\(name) has an id twice")
            let labelled = Set(page.elements.filter { $0.name == "label" }.compactMap { $0["for"] })
            for element in page.elements {
                for reference in ["for", "aria-labelledby", "aria-describedby"] {
                    for id in (element[reference] ?? "").split(separator: " ") {
                        #expect(ids.contains(String(id)), "\(name): nothing is \(id)")
                    }
                }
                switch element.name {
                case "input" where element["type"] != "hidden", "select", "textarea":
                    let isNamed = element.within.contains("label") || labelled.contains(element["id"] ?? "")
                    #expect(isNamed, "\(name): \(element)")
                case "th": #expect(["col", "row"].contains(element["scope"]), "\(name)")
                case "button": #expect(element["type"] != nil, "\(name)")
                case "svg": #expect(element["aria-hidden"] == "true" || element["role"] == "img", "\(name)")
                case "time": #expect(element["datetime"]?.hasSuffix("Z") == true, "\(name)")
                case "nav", "progress": #expect(element["aria-label"] != nil, "\(name)")
                default: break
                }
            }
            let levels = page.elements.filter { !$0.within.contains("dialog") }.compactMap { element in
                element.name.wholeMatch(of: /h([1-6])/).flatMap { Int($0.1) }
            }
            #expect(levels.count { $0 == 1 } == 1, "\(name)")
            #expect(zip(levels, levels.dropFirst()).allSatisfy { $1 <= $0 + 1 }, "\(name): \(levels)")
        }
    }

    /// Covers every text of every page, including those that only this program writes.
    @Test func whatPeopleWriteNeverBecomesMarkup() throws {
        for (name, template, context) in Demo.all {
            let plain = HTMLScan(templates.render(template, context))
            let hostile = HTMLScan(templates.render(template, Hostile(page: context, text: Hostile.markup)))
            #expect(hostile.problems.isEmpty, "\(name)")
            // The elements and attributes are the same; only the texts differ.
            #expect(
                plain.elements.map { [$0.name] + $0.attributes.map(\.name) }
                    == hostile.elements.map { [$0.name] + $0.attributes.map(\.name) },
                "\(name)"
            )
            #expect(
                hostile.text.contains("<script>alert(1)</script>") && hostile.text.contains("{{frame.version}}"),
                "\(name)"
            )
            #expect(!hostile.text.contains("\0"))
        }
    }

    /// Checks that each part that the stream updates is one element with its id, as it is in the page.
    @Test func livePartsAreOneElementEach() throws {
        for (name, template, context) in Demo.all {
            let html = templates.render(template, context)
            let page = HTMLScan(html)
            guard page.elements.contains(where: { $0.name == "body" && $0["data-stream"] != nil }) else { continue }
            let parts = try #require(Console.pages.first { $0.template == template }).parts
            for part in parts {
                let text = templates.render(part.value, context)
                let scan = HTMLScan(text)
                #expect(
                    scan.elements.first?["id"] == part.key && scan.elements.count { $0.within.isEmpty } == 1,
                    "\(part)"
                )
                #expect(html.contains(text.trimmingCharacters(in: .whitespacesAndNewlines)), "\(name): \(part)")
            }
            let frame: Set = ["live-words", "live-button"]
            let ids = page.elements.compactMap { $0["id"] }.filter { $0.hasPrefix("live-") && !frame.contains($0) }
            #expect(ids.sorted() == parts.map(\.key).sorted(), "\(name)")
        }
    }

    @Test func whatIsAbsentIsNotTakenFromWhatItLiesIn() throws {
        let templates = try ConsoleTemplates([
            "page": "{{#inner}}[{{#words}}{{.}}{{/words}}{{^words}}none{{/words}}]{{/inner}}"
        ])
        struct Inner: ViewContext { let words: String? }
        struct Outer: ViewContext {
            let words: String?
            let inner: Inner
        }
        #expect(templates.render("page", Outer(words: "outer", inner: Inner(words: nil))) == "[none]")
        #expect(templates.render("page", Outer(words: "outer", inner: Inner(words: "inner"))) == "[inner]")
    }
}
