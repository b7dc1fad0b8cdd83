import BrowserKit
import Foundation
import TestKit
import Testing

extension ConsoleTests {
    private static let rules = """
        const options = { runOnly: { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] },
          rules: { 'target-size': { enabled: true } }, resultTypes: ['violations'], preload: false }

        """
    /// The rules about colours, which are all that the dark theme changes.
    private static let colours = """
        const options = { runOnly: { type: 'rule', values: ['color-contrast', 'link-in-text-block'] }, resultTypes: ['violations'], preload: false }

        """
    private static let examination = """
        document.querySelectorAll('details:not(#who)').forEach((details) => { details.open = true })
        const { violations } = await axe.run(document, options)
        return violations.map(({ id, help, nodes }) => `${id}, ${help}: `
          + nodes.map(({ html, failureSummary }) => `${html.slice(0, 160)} ${failureSummary}`).join('; '))
        """

    /// Checks accessibility by axe-core; what it cannot detect, such as clear wording, is not tested.
    @Test func nobodyIsShutOut() async throws {
        guard let path = ProcessInfo.processInfo.environment["FANFARE_AXE"] else {
            Issue.record("FANFARE_AXE is not set: run export FANFARE_AXE=$(deploy/axe.sh), or all by deploy/test.sh")
            return
        }
        let axe = try String(contentsOfFile: path, encoding: .utf8)
        try await Browser.with { browser in
            let places = try await ConsolePlaces("open-to-all", dev, browser)
            try await browser.logIn(dev)
            try await browser.runFirst(axe)
            for path in places.paths {
                try await browser.open(dev.api + path)
                for (width, scheme, options) in [
                    (360, "light", Self.rules), (1280, "light", Self.rules), (1280, "dark", Self.colours),
                ] {
                    try await browser.resize(width: width, height: 900)
                    try await browser.emulate(["prefers-color-scheme": scheme])
                    let violations = try await browser.run(options + Self.examination, as: [String].self)
                    #expect(violations == [], "\(path), \(width) pixels wide, \(scheme)")
                }
            }
        }
    }
}
