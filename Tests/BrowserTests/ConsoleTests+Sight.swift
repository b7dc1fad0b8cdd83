import BrowserKit
import Foundation
import TestKit
import Testing

extension ConsoleTests {
    @Test func noPageIsWiderThanItsWindow() async throws {
        try await Browser.with { browser in
            let places = try await ConsolePlaces("narrow", dev, browser)
            try await browser.logIn(dev)
            for path in places.paths {
                try await browser.open(dev.api + path)
                for width in [360, 3840] {
                    try await browser.resize(width: width, height: 800)
                    let room = try await browser.run(
                        "return [document.documentElement.scrollWidth, innerWidth]",
                        as: [Int].self
                    )
                    #expect(room[0] <= room[1], "\(path) at \(width) pixels")
                }
            }
            for width in [360, 3840] {
                try await browser.resize(width: width, height: 800)
                // The last page of the navigation, and back to the first.
                try await browser.open(dev.api + "/events")
                try await browser.follow("nav.pages li:last-child a", to: "Providers")
                try await browser.follow("nav.pages li:first-child a", to: "Overview")
            }
        }
    }

    @Test func timesAreTheReadersAndColoursTheSystems() async throws {
        try await Browser.with { browser in
            try await browser.devTools("Emulation.setTimezoneOverride", ["timezoneId": "America/Mexico_City"])
            try await browser.logIn(dev)
            let event = try await dev.emit("page.viewed")
            try await browser.open("\(dev.api)/events/\(event)")
            try await browser.wait(for: "#zone", toHold: "America/Mexico_City")
            let time = try await browser.find("#live-head time")
            let at = try Date(#require(try await time.attribute("datetime")), strategy: .iso8601)
            let universal = at.formatted(.iso8601).replacing("T", with: " ").replacing("Z", with: " UTC")
            #expect(try await time.attribute("title") == universal)
            // UTC−6 all year.
            let local = at.addingTimeInterval(-6 * 3600).formatted(.iso8601.time(includingFractionalSeconds: false))
            #expect(try await time.text.contains(local.replacing("Z", with: "")))

            let ground = """
                return getComputedStyle(document.body).backgroundColor.match(/[\\d.]+/g).slice(0, 3).map(Number)
                """
            for (scheme, range) in [("light", 200...255), ("dark", 0...60)] {
                try await browser.emulate(["prefers-color-scheme": scheme])
                let colour = try await browser.run(ground).elements.compactMap(\.integer)
                #expect(colour.count == 3 && colour.allSatisfy(range.contains), "\(scheme): \(colour)")
            }
        }
    }

    @Test func everythingIsReachedByKeys() async throws {
        try await Browser.with { browser in
            _ = try await dev.startHeldCampaign("keys", browser)
            try await browser.logIn(dev)
            try await browser.open(dev.api + "/campaigns/demo/keys")
            let reachable = try await browser.run(Self.reachable).elements
            #expect(reachable.count > 20)

            // The first key press reaches the link that skips the navigation.
            try await press("Tab", 9, browser)
            #expect(try await browser.run("return document.activeElement.className") == "skip")
            #expect(try await browser.run("return document.activeElement.getBoundingClientRect().top >= 0") == true)
            var seen: [JSON] = []
            for _ in 0..<(2 * reachable.count) {
                let focus = try await browser.run(Self.focus)
                guard focus != .null, !seen.contains(focus["name"]) else { break }
                #expect(focus["isSeen"] == true, "\(focus["name"])")
                seen.append(focus["name"])
                try await press("Tab", 9, browser)
            }
            #expect(Set(seen) == Set(reachable), "\(Set(seen).symmetricDifference(reachable))")

            try await browser.open(dev.api + "/campaigns/demo/keys")
            try await press("Tab", 9, browser)
            try await press("Enter", 13, browser)
            try await browser.wait(for: "the page's main part to have the focus") {
                try await browser.run("return document.activeElement.id") == "main" ? true : nil
            }
            try await browser.find("body").type("/")
            #expect(try await browser.run("return document.activeElement.id") == "find")
            try await press("Escape", 27, browser)
            try await browser.find("body").type("gr")
            try await browser.wait(for: "h1", toSay: "Rules")
            try await browser.find("body").type("j")
            #expect(try await browser.run("return document.activeElement.matches('a[data-row]')") == true)
            try await browser.find("body").type("?")
            try await browser.wait(for: "#help h2", toSay: "Keyboard shortcuts")
            try await browser.click("#help-on")
            try await press("Escape", 27, browser)
            // With shortcuts switched off, the key types a character.
            try await browser.find("body").type("/")
            #expect(try await browser.run("return document.activeElement.id") != "find")
        }
    }

    private func press(_ key: String, _ code: Int, _ browser: Browser) async throws {
        var event: [String: JSON] = [
            "key": .string(key), "code": .string(key), "windowsVirtualKeyCode": .number(Double(code)),
        ]
        if key == "Enter" { event["text"] = "\r" }
        for type in ["keyDown", "keyUp"] {
            event["type"] = .string(type)
            try await browser.devTools("Input.dispatchKeyEvent", .object(event))
        }
    }

    /// JavaScript that names an element by its position in the page.
    private static let name = """
        const name = (element) => {
          const path = []
          for (let node = element; node.parentElement; node = node.parentElement) {
            path.unshift(node.id ? '#' + node.id : node.tagName + [...node.parentElement.children].indexOf(node))
            if (node.id) break
          }
          return path.join('>') + ' ' + (element.textContent || element.name || '').trim().slice(0, 30)
        }

        """

    private static let reachable =
        name + """
            const kinds = 'a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex="0"]'
            return [...document.querySelectorAll(kinds)].filter((element) => element.checkVisibility()).map(name)
            """

    private static let focus =
        name + """
            const element = document.activeElement
            if (!element || element === document.body) return null
            const { outlineStyle, outlineWidth } = getComputedStyle(element)
            return { name: name(element), isSeen: outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2 }
            """
}
