package import PushCrypto

extension CredentialFiles {
    /// Reads a VAPID key.
    package func vapidKey(_ webPush: WebPushSettings, app: String) throws(DaemonError) -> VAPIDKey {
        let origin = "`fanfare vapid-keys` makes one; browsers that subscribed with another key must subscribe again."
        return try read("apps.\(app).webpush.vapid_key_file", from: origin) { (guardedFolders) throws(KeyError) in
            try VAPIDKey.load(pemFile: webPush.vapidKeyFile, guardedFolders: guardedFolders)
        }
    }
}
