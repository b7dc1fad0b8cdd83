package import PushCrypto

extension CredentialFiles {
    /// Reads a service account.
    package func serviceAccount(_ fcm: FCMSettings, app: String) throws(DaemonError) -> ServiceAccount {
        let origin = "The Firebase console makes it: project settings, service accounts, new private key."
        return try read("apps.\(app).fcm.service_account_file", from: origin) { (guardedFolders) throws(KeyError) in
            try ServiceAccount.load(jsonFile: fcm.serviceAccountFile, guardedFolders: guardedFolders)
        }
    }
}
