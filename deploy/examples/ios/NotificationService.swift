import Foundation
@preconcurrency import UserNotifications

/// The notification service extension: reports that a push was received, and adds its picture.
///
/// Create a target of this type in Xcode, and add ReportQueue.swift to it and to the app. Both targets need the same App
/// Group. iOS starts the extension only for pushes that have an alert and `mutable-content: 1`, and gives it 30 s and
/// 24 MB. It may stop the extension at any time, so the report is in a file before anything else happens.
final class NotificationService: UNNotificationServiceExtension {
    private var delivery: Delivery?

    override func didReceive(
        _ request: UNNotificationRequest,
        withContentHandler contentHandler: @escaping (UNNotificationContent) -> Void
    ) {
        let delivery = Delivery(request.content, contentHandler)
        self.delivery = delivery
        report(request.content.userInfo["fanfare_report"] as? String)
        // `data.image` of the rule's message.
        guard let link = request.content.userInfo["image"] as? String, let picture = URL(string: link) else {
            delivery.finish()
            return
        }
        let download = URLSession.shared.downloadTask(with: picture) { file, response, _ in
            delivery.finish(picture: file.flatMap { Self.attachment($0, response) })
        }
        download.resume()
    }

    /// Shows the push without its picture, because the time is up.
    override func serviceExtensionTimeWillExpire() { delivery?.finish() }

    /// Keeps the report, and sends it beside the notification, which does not wait for it.
    private func report(_ handle: String?) {
        guard let handle, let queue = ReportQueue.shared else { return }
        queue.add(PushReport(handle: handle, kind: .received))
        // Asks for time after the notification. If iOS grants none, the next push or the next start of the app sends it.
        ProcessInfo.processInfo.performExpiringActivity(withReason: "report") { isExpired in
            guard !isExpired else { return }
            let done = DispatchSemaphore(value: 0)
            Task {
                await queue.sendLater()
                done.signal()
            }
            done.wait()
        }
    }

    private static func attachment(_ file: URL, _ response: URLResponse?) -> UNNotificationAttachment? {
        // iOS takes the type from the file's name, and removes the downloaded file after the completion handler.
        let name = response?.suggestedFilename ?? "picture.jpg"
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        let named = folder.appendingPathComponent(name)
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try FileManager.default.moveItem(at: file, to: named)
            return try UNNotificationAttachment(identifier: "picture", url: named)
        } catch {
            return nil
        }
    }
}

/// A notification that is shown once, by whichever thread is first.
///
/// Unchecked: the lock protects `handler`, and `content` does not change.
private final class Delivery: @unchecked Sendable {
    private let lock = NSLock()
    private let content: UNNotificationContent
    private var handler: ((UNNotificationContent) -> Void)?

    init(_ content: UNNotificationContent, _ handler: @escaping (UNNotificationContent) -> Void) {
        self.content = content
        self.handler = handler
    }

    func finish(picture: UNNotificationAttachment? = nil) {
        let handler = lock.withLock {
            defer { self.handler = nil }
            return self.handler
        }
        guard let handler else { return }
        guard let picture, let copy = content.mutableCopy() as? UNMutableNotificationContent else {
            handler(content)
            return
        }
        copy.attachments = [picture]
        handler(copy)
    }
}
