import ArgumentParser
import FanfareCore
import FanfareService
import FanfareTools

/// `fanfare vapid-keys`: makes the key pair of Web Push.
struct VAPIDKeys: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "vapid-keys",
        abstract: "Create a key pair for Web Push (VAPID).",
        discussion: """
            Browsers subscribe with the public key, and their subscriptions end with it: make one pair for an app, once, \
            and keep the private key.
            """
    )

    @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions

    @Option(
        help: "A new file for the private key (PEM, mode 600); without it the key is printed.",
        completion: .file()
    )
    var out: String?

    func run() throws {
        let key = try NewVAPIDKey(file: out)
        try options.show(key.json, key.text)
    }
}
