import Foundation

@testable import FanfareProviders

/// The project's documentation in the checkout.
enum Documentation {
    /// The root of the checkout.
    static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    /// The catalogue of articles.
    static let catalogue = root.appending(path: "Sources/fanfare/Documentation.docc")

    /// Returns the file of an article.
    static func file(_ article: String) -> URL { catalogue.appending(path: "\(article).md") }

    /// Returns the name of the article about a provider, which is in a subfolder.
    static func article(of provider: any Provider) -> String { "Providers/\(provider.title.filter(\.isLetter))" }

    /// Returns the text of an article.
    static func text(_ article: String) throws -> String {
        try String(contentsOf: file(article), encoding: .utf8)
    }

    /// Returns the text of README.
    static func readme() throws -> String {
        try String(contentsOf: root.appending(path: "README.md"), encoding: .utf8)
    }

    /// Returns the names of all articles except those about providers, including the root page, in alphabetical order.
    static func articles() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: catalogue.path)
            .filter { $0.hasSuffix(".md") }.map { String($0.dropLast(3)) }.sorted()
    }
}
