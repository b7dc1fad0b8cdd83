import Foundation

@testable import FanfareProviders

/// The project's documentation, where it lies in the checkout.
enum Documentation {
    /// The checkout.
    static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    /// The catalogue of articles.
    static let catalogue = root.appending(path: "Sources/fanfare/Documentation.docc")

    /// Where an article lies.
    static func file(_ article: String) -> URL { catalogue.appending(path: "\(article).md") }

    /// The article about a provider, in a folder of its own.
    static func article(of provider: any Provider) -> String { "Providers/\(provider.title.filter(\.isLetter))" }

    /// The text of an article.
    static func text(_ article: String) throws -> String {
        try String(contentsOf: file(article), encoding: .utf8)
    }

    /// README's text.
    static func readme() throws -> String {
        try String(contentsOf: root.appending(path: "README.md"), encoding: .utf8)
    }

    /// The names of all articles but those about providers, the root page included, in alphabetical order.
    static func articles() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: catalogue.path)
            .filter { $0.hasSuffix(".md") }.map { String($0.dropLast(3)) }.sorted()
    }
}
