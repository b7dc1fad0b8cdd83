import UIKit
@preconcurrency import UserNotifications
import os

/// Asks for permission, and sends the device's token to your backend: `PUT /push/device`, as in server.mjs.
///
/// In SwiftUI: `@UIApplicationDelegateAdaptor(PushDelegate.self) private var push`. The target needs the capability Push Notifications.
@MainActor
final class PushDelegate: NSObject, UIApplicationDelegate, @preconcurrency UNUserNotificationCenterDelegate {
    /// The address of your backend.
    static var backend = URL(string: "https://shop.example.com")
    /// The user's session at your backend; nil while no user is signed in.
    static var session: String?

    private let log = Logger(subsystem: "com.example.shop", category: "push")
    private let lastToken = "push.token"

    func application(
        _ application: UIApplication,
        didFinishLaunchingWithOptions options: [UIApplication.LaunchOptionsKey: Any]? = nil
    ) -> Bool {
        UNUserNotificationCenter.current().delegate = self
        UNUserNotificationCenter.current().setNotificationCategories([Self.orders])
        // The token is requested at each start: Apple changes it after a restore or an update, and may do so at any time.
        Task { await ask(application) }
        // Reports that the extension or an earlier run could not send.
        Task { await ReportQueue.shared?.send() }
        return true
    }

    /// The category `orders` of pushes (`apns.payload.aps.category`): with a reply, and with reports of dismissals.
    private static var orders: UNNotificationCategory {
        let reply = UNTextInputNotificationAction(identifier: "reply", title: "Reply")
        // Without customDismissAction, iOS does not tell the app of dismissals.
        return UNNotificationCategory(
            identifier: "orders",
            actions: [reply],
            intentIdentifiers: [],
            options: .customDismissAction
        )
    }

    /// Asks for permission; better after a user's action that pushes relate to than at the first start.
    private func ask(_ application: UIApplication) async {
        do {
            let center = UNUserNotificationCenter.current()
            _ = try await center.requestAuthorization(options: [.alert, .sound, .badge])
        } catch {
            log.error("no permission: \(error)")
        }
        // Also if the user refused: the backend learns it, and silent pushes arrive.
        application.registerForRemoteNotifications()
    }

    func application(_ application: UIApplication, didRegisterForRemoteNotificationsWithDeviceToken token: Data) {
        let text = token.map { String(format: "%02x", $0) }.joined()
        Task { await register(text) }
    }

    func application(_ application: UIApplication, didFailToRegisterForRemoteNotificationsWithError error: any Error) {
        log.error("no token: \(error)")
    }

    /// Registers the token; call it after signing in, too.
    func register(_ token: String) async {
        let last = UserDefaults.standard.string(forKey: lastToken)
        var device = [
            "provider": "apns", "token": token, "time_zone": TimeZone.current.identifier,
            "locale": Locale.preferredLanguages.first ?? "en",
        ]
        device["permission"] = await permission()
        #if DEBUG
            // Xcode installs builds with a token of the other environment. If this is wrong, Fanfare finds the right one.
            device["environment"] = "sandbox"
        #endif
        // The device keeps its topics.
        if let last, last != token { device["replaces"] = last }
        guard let answer = await send("PUT", "/push/device", device) else { return }
        UserDefaults.standard.set(token, forKey: lastToken)
        if let key = (try? JSONDecoder().decode(Registered.self, from: answer))?.reportKey {
            ReportQueue.shared?.key = key
            await ReportQueue.shared?.send()
        }
    }

    private struct Registered: Decodable {
        /// The key for reports, which the extension needs too.
        var reportKey: String?

        enum CodingKeys: String, CodingKey { case reportKey = "report_key" }
    }

    /// Returns what the user allows; nil if the user was not asked.
    private func permission() async -> String? {
        switch await UNUserNotificationCenter.current().notificationSettings().authorizationStatus {
        case .authorized, .ephemeral: "authorized"
        case .provisional: "provisional"
        case .denied: "denied"
        default: nil
        }
    }

    /// Removes the device before the session ends, because another user may sign in on this phone.
    func signOut() async {
        guard let token = UserDefaults.standard.string(forKey: lastToken) else { return }
        if await send("POST", "/push/sign-out", ["provider": "apns", "token": token]) != nil {
            UserDefaults.standard.removeObject(forKey: lastToken)
            ReportQueue.shared?.clear()
        }
    }

    /// Returns the answer to a request, or nil after three attempts; the next start of the app is the fourth.
    private func send(_ method: String, _ path: String, _ body: [String: String]) async -> Data? {
        guard let session = Self.session, let backend = Self.backend else { return nil }
        guard let data = try? JSONEncoder().encode(body) else { return nil }
        var request = URLRequest(url: backend.appending(path: path))
        request.httpMethod = method
        request.httpBody = data
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.setValue("Bearer \(session)", forHTTPHeaderField: "Authorization")
        for attempt in 1...3 {
            var wait = Double(attempt * attempt)
            let answer = try? await URLSession.shared.data(for: request)
            if let (content, response) = answer, let response = response as? HTTPURLResponse {
                if (200..<300).contains(response.statusCode) { return content }
                log.error("\(path): \(response.statusCode)")
                guard response.statusCode == 429 || response.statusCode >= 500 else { return nil }
                wait = response.value(forHTTPHeaderField: "Retry-After").flatMap(Double.init) ?? wait
            }
            if attempt < 3 { try? await Task.sleep(for: .seconds(min(wait, 60))) }
        }
        return nil
    }

    /// Shows the push while the app is open, too.
    func userNotificationCenter(
        _ center: UNUserNotificationCenter,
        willPresent notification: UNNotification
    ) async -> UNNotificationPresentationOptions { [.banner, .sound] }

    /// Handles a tap on the push, an action, or a dismissal, and reports it.
    ///
    /// `data` of the rule's message is beside `aps`.
    func userNotificationCenter(_ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse) async {
        let content = response.notification.request.content
        if response.actionIdentifier == UNNotificationDefaultActionIdentifier {
            log.info("opened order \(content.userInfo["order"] as? String ?? "-")")
        }
        ReportQueue.shared?.add(Self.report(response))
        // iOS suspends the app soon after this method returns. What was not sent is sent at the next start.
        await ReportQueue.shared?.send()
    }

    /// Returns what a response means; nil if the push asks for no reports.
    private static func report(_ response: UNNotificationResponse) -> PushReport? {
        let data = response.notification.request.content.userInfo
        guard let handle = data["fanfare_report"] as? String else { return nil }
        switch response.actionIdentifier {
        case UNNotificationDefaultActionIdentifier: return PushReport(handle: handle, kind: .opened)
        case UNNotificationDismissActionIdentifier: return PushReport(handle: handle, kind: .dismissed)
        case let action:
            let text = (response as? UNTextInputNotificationResponse)?.userText
            return PushReport(handle: handle, kind: .action, action: action, text: text)
        }
    }
}
