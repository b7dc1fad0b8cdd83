import ArgumentParser
import FanfareConfiguration
import FanfareCore
import FanfareRecords
import FanfareService
import FanfareTools
import Foundation

/// `fanfare devices`: the registered devices.
struct Devices: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Register, list, subscribe, import and export devices; restore pruned ones.",
        subcommands: [
            Register.self, Unregister.self, List.self, Show.self, Subscribe.self, Unsubscribe.self, Restore.self,
            ResumePruning.self, Import.self, Export.self,
        ]
    )
}

/// The token and app of a command.
struct TokenOptions: ParsableArguments {
    @Option(help: "The app.")
    var app: String

    @Option(help: "A provider's name, such as apns.")
    var provider: String

    @Argument(help: "The token; the endpoint of a Web Push subscription, the URL of a webhook.")
    var token: String
}

extension Devices {
    /// `fanfare devices register`.
    struct Register: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Register a token, or renew its registration, and print the device's id."
        )

        @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions
        @OptionGroup var token: TokenOptions

        @Option(help: "The user; another one than before ends the old registration with its subscriptions.")
        var user: String?

        @Option(help: "What the token is for: device, voip, live_activity …")
        var kind = "device"

        @Option(help: "production or sandbox.")
        var environment = "production"

        @Option(help: "A language tag, such as es-MX.")
        var locale: String?

        @Option(help: "A time zone, such as Europe/Madrid.")
        var timeZone: String?

        @Option(help: "A JSON object for the rules' devices filter.")
        var attributes: String?

        @Option(help: "Web Push: keys.p256dh of the subscription.")
        var p256dh: String?

        @Option(
            help:
                "Web Push: keys.auth of the subscription. A webhook: its signing secret. - reads it from standard input."
        )
        var auth: String?

        @Option(help: "The token that this one takes the place of; the device keeps its id.")
        var replaces: String?

        @Option(help: "FCM: fid if the token is a Firebase installation id, else token.")
        var address: String?

        @Option(help: "What its user allows: authorized, provisional or denied; without it, what it was.")
        var permission: String?

        @Option(help: "Which of alert, badge and sound are on, such as alert,badge; or none.")
        var presents: String?

        func run() async throws {
            var registration = DeviceRegistration(app: token.app, provider: token.provider, token: token.token)
            registration.userID = user
            registration.kind = kind
            registration.environment = environment
            registration.locale = locale
            registration.timeZone = timeZone
            registration.attributes = try attributes.map { try ToolJSON.object($0, as: .attributes) }
            registration.p256dh = p256dh
            registration.auth = try auth.map { try StandardInput.text(for: $0).trimmingCharacters(in: .newlines) }
            registration.replaces = replaces
            registration.address = address
            registration.permission = permission
            registration.presents = presents.map { $0 == "none" ? [] : $0.split(separator: ",").map(String.init) }
            let id = try await options.withDatabase { database throws(ToolError) in
                try await database.register(registration)
            }
            try options.show(["device_id": .number(JSONNumber(id))], "\(id)")
        }
    }

    /// `fanfare devices unregister`.
    struct Unregister: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Disable the device that holds a token.")

        @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions
        @OptionGroup var token: TokenOptions

        func run() async throws {
            let isChanged = try await options.withDatabase { database throws(ToolError) in
                try await database.unregister(app: token.app, provider: token.provider, token: token.token)
            }
            let text = isChanged ? "unregistered" : "no such device is enabled"
            try options.show(["unregistered": .bool(isChanged)], text)
        }
    }

    /// `fanfare devices list`.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List devices, the newest first.")

        @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions

        @Option(help: "Of this app only.")
        var app: String?

        @Option(help: "Of this user only.")
        var user: String?

        @Option(help: "Of this provider only.")
        var provider: String?

        @Option(help: "Subscribed to this topic only.")
        var topic: String?

        @Flag(help: "Only those that get something, or only those that do not.")
        var state: EnabledState?

        @Option(help: "How many at most.")
        var limit: Int64 = 100

        func run() async throws {
            var filter = DeviceFilter()
            filter.app = app
            filter.user = user
            filter.provider = provider
            filter.topic = topic
            filter.isDisabled = state.map { $0 == .disabled }
            filter.limit = limit
            let devices = try await options.withDatabase { database throws(ToolError) in
                try await database.devices(filter)
            }
            try options.show(.array(devices.map(\.json)), RegisteredDevice.table(devices))
        }
    }

    /// `fanfare devices show`.
    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show one device with its topics.")

        @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions

        @Argument(help: "The device's id.")
        var id: Int64

        func run() async throws {
            let device = try await options.withDatabase { database throws(ToolError) in
                try await database.device(id)
            }
            try options.show(device.json, device.text)
        }
    }
}

/// `--enabled` or `--disabled`.
enum EnabledState: String, EnumerableFlag {
    case enabled, disabled
}
