import BrowserKit
import Foundation
import Testing

/// Tests of the library that tests of pages use, with a real browser.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct BrowserKitTests {
    private static let page = """
        <!doctype html><html lang="en"><meta charset="utf-8"><title>Page</title>
        <style>
          p { color: rgb(1, 2, 3) }
          @media (prefers-color-scheme: dark) { p { color: rgb(4, 5, 6) } }
          @media (max-width: 400px) { #wide { display: none } }
        </style>
        <noscript><p id="plain">no scripts</p></noscript>
        <p id="said">nothing</p><p id="wide">wide</p>
        <label>Name <input id="name" value="old"></label>
        <button id="later" title="Later">Later</button>
        <button id="ask">Ask</button>
        <script>
          console.log('page is there')
          document.title = 'Scripted'
          const said = document.querySelector('#said')
          document.querySelector('#later').onclick = () =>
            setTimeout(() => { said.textContent = document.querySelector('#name').value + ' ' + navigator.language }, 30)
          document.querySelector('#ask').onclick = () => { said.textContent = confirm('Really?') ? 'yes' : 'no' }
        </script>
        """

    private static let address = "data:text/html;base64," + Data(page.utf8).base64EncodedString()

    @Test func aPageIsReadClickedAndTypedInto() async throws {
        var options = BrowserOptions()
        options.language = "es-MX"
        try await Browser.with(options) { browser in
            try await browser.open(Self.address)
            #expect(try await browser.title == "Scripted")
            let console = try await browser.takeConsole()
            #expect(console.contains { $0.level == "INFO" && $0.message.contains("page is there") })

            let name = try await browser.find("#name")
            #expect(try await name.label == "Name")
            #expect(try await name.role == "textbox")
            try await name.type("new", replacing: true)
            #expect(try await name.property("value") == "new")
            let later = try await browser.find("#later")
            #expect(try await later.attribute("title") == "Later")
            #expect(try await later.attribute("href") == nil)
            try await later.click()
            try await browser.wait(for: "#said", toSay: "new es-MX")

            try await browser.find("#ask").click()
            #expect(try await browser.dialog == "Really?")
            try await browser.answerDialog(accepting: true)
            try await browser.wait(for: "#said", toSay: "yes")

            #expect(try await browser.run("return Promise.resolve(arguments[0] + 1)", 41, as: Int.self) == 42)
            #expect(try await browser.runAsync("arguments[0]('done')", as: String.self) == "done")
            #expect(try await browser.run("return arguments[0].id", name.reference, as: String.self) == "name")
            await #expect { try await browser.run("throw new Error('no such thing')") } throws: { error in
                (error as? BrowserError)?.message.contains("no such thing") ?? false
            }
            await #expect { try await browser.wait(for: "never", within: .zero) { Bool?.none } } throws: { error in
                (error as? BrowserError)?.description.hasPrefix("timeout: waited for never") ?? false
            }
        }
    }

    @Test func aPageIsSeenInTheDarkOnAPhoneAndWithoutScripts() async throws {
        try await Browser.with { browser in
            try await browser.open(Self.address)
            let said = try await browser.find("#said")
            #expect(try await said.style("color") == "rgba(1, 2, 3, 1)")
            try await browser.emulate(["prefers-color-scheme": "dark"])
            #expect(try await said.style("color") == "rgba(4, 5, 6, 1)")

            #expect(try await browser.find("#wide").isVisible)
            try await browser.resize(width: 360, height: 640)
            #expect(try await browser.find("#wide").isVisible == false)
            let picture = [UInt8](try await browser.screenshot())
            #expect(picture.prefix(4).elementsEqual([0x89] + "PNG".utf8))
            // Width and height in the PNG's first chunk.
            #expect(picture[16..<24].elementsEqual([0, 0, 1, 0x68, 0, 0, 2, 0x80]))

            #expect(try await browser.findAll("#plain").isEmpty)
            try await browser.setScripts(areOn: false)
            try await browser.open(Self.address)
            #expect(try await browser.title == "Page")
            #expect(try await browser.find("#plain").text == "no scripts")

            let first = try await browser.tab
            try await browser.inNewTab {
                try await browser.open(Self.address)
                #expect(try await browser.title == "Scripted")
                #expect(try await browser.tabs.count == 2)
            }
            #expect(try await browser.tabs == [first])
        }
    }

    @Test func aBrowserEndsWithItsTest() async throws {
        struct Failure: Error {}
        var processID = 0
        await #expect(throws: Failure.self) {
            try await Browser.with { browser in
                processID = browser.processID
                #expect(FileManager.default.fileExists(atPath: "/proc/\(processID)"))
                throw Failure()
            }
        }
        // The process may still be a zombie that its new parent has not reaped: it then has no command line.
        #expect((FileManager.default.contents(atPath: "/proc/\(processID)/cmdline") ?? Data()).isEmpty)
    }
}
