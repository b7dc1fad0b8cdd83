extension PushProvider {
    /// The platforms that this version sends to.
    public static let supported: [PushProvider] = [.apns]
}
