import Foundation
import Testing

@testable import DaemonKit
@testable import FanfareProviders

/// README is short and links to each article.
@Suite struct ArticleTests {
    @Test func readmeIsShort() throws {
        let readme = try Documentation.readme()
        #expect(readme.components(separatedBy: "\n").count - 1 <= 200)
        #expect(readme.utf8.count <= 12 * 1024)
    }

    /// Figures that stand in two places would drift apart.
    @Test func readmeQuotesFiveFiguresAsTheyWereMeasured() throws {
        let section = try #require(try Documentation.readme().components(separatedBy: "\n## Five figures\n").last)
        let own = section.components(separatedBy: "\n## ")[0]
        let figures = own.matches(of: /[*] [*]{2}(.+?)[*]{2}/).map { String($0.1) }
        #expect(figures.count == 5)
        let book = try Documentation.text("Performance")
        for figure in figures { #expect(book.contains(figure), "\(figure) is not in Performance.md") }
    }

    @Test func everyArticleHasATitleAnAbstractAndAPlaceInTheCatalogue() throws {
        let root = try Documentation.text("Documentation")
        let articles = try Documentation.articles().filter { $0 != "Documentation" }
        #expect(articles.count > 10)
        for article in articles {
            let lines = try Documentation.text(article).components(separatedBy: "\n")
            #expect(lines[0].hasPrefix("# ") && lines[1].isEmpty && lines[3].isEmpty, "\(article)")
            #expect(lines[2].hasSuffix(".") && !lines[2].hasPrefix("#"), "\(article)")
            #expect(root.contains("\n- <doc:\(article)>\n"), "\(article) is not among the topics")
            #expect(root.contains("](\(article).md)"), "\(article) is not in the table")
        }
        #expect(root.matches(of: /<doc:\w+>/).count == articles.count)
    }

    /// The article names the files that handle an event, and files that answer questions; they must exist where it says.
    @Test func theWayOfAnEventThroughTheSourceIsAsItIsTold() throws {
        let sections = try Documentation.text("HowItWorks").components(separatedBy: "\n## ")
        func files(_ title: String) throws -> [String] {
            let section = try #require(sections.first { $0.hasPrefix(title) })
            return section.matches(of: /`(schema\.sql|Sources\/[^`]+)`/).map { String($0.1) }
        }
        let way = try files("In the source")
        #expect((15...20).contains(way.count) && Set(way).count == way.count)
        for file in try way + files("Where to look") {
            let path = Documentation.root.appending(path: file).path
            #expect(FileManager.default.fileExists(atPath: path), "\(file)")
        }
    }

    @Test func everyProviderHasAnArticleThatReadmeNames() throws {
        let readme = try Documentation.readme()
        for provider in Providers.all {
            let article = Documentation.article(of: provider)
            let lines = try Documentation.text(article).components(separatedBy: "\n")
            #expect(lines[0] == "# \(provider.title)" && lines[2].hasSuffix("."))
            #expect(readme.contains("[\(provider.title)](Sources/fanfare/Documentation.docc/\(article).md)"))
        }
        let files = try FileManager.default.contentsOfDirectory(
            atPath: Documentation.catalogue.appending(path: "Providers").path
        )
        #expect(files.count == Providers.all.count)
    }

    /// Links to headings too: the code host's anchors are the heading in lower case, with dashes for spaces.
    @Test func everyLinkLeadsSomewhere() throws {
        var pages = [(name: "README", text: try Documentation.readme(), folder: Documentation.root)]
        for article in try Documentation.articles() {
            pages.append((article, try Documentation.text(article), Documentation.catalogue))
        }
        for article in Providers.all.map(Documentation.article) {
            let folder = Documentation.catalogue.appending(path: "Providers")
            pages.append((article, try Documentation.text(article), folder))
        }
        var count = 0
        for page in pages {
            for link in page.text.matches(of: #/\]\(([^)\s]+)\)/#).map({ String($0.1) }) where !link.contains("://") {
                count += 1
                let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
                var text = page.text
                if !parts[0].isEmpty {
                    let place = page.folder.appending(path: parts[0]).path
                    guard parts[0].hasSuffix(".md") || parts.count == 2 else {
                        #expect(FileManager.default.fileExists(atPath: place), "\(page.name): \(link)")
                        continue
                    }
                    let file = FileManager.default.contents(atPath: place)
                    text = String(decoding: try #require(file, "\(page.name): \(link)"), as: UTF8.self)
                }
                guard parts.count == 2 else { continue }
                #expect(Self.anchors(in: text).contains(parts[1]), "\(page.name): \(link)")
            }
        }
        #expect(count > 40)
    }

    private static func anchors(in text: String) -> Set<String> {
        let headings = text.components(separatedBy: "\n").filter { $0.hasPrefix("#") }
        return Set(
            headings.map { line in
                let kept = line.drop { $0 == "#" || $0 == " " }.lowercased()
                    .filter { $0.isLetter || $0.isNumber || " -_".contains($0) }
                return kept.replacing(" ", with: "-")
            }
        )
    }
}
