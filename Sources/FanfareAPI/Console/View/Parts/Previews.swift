/// A message as three screens show it.
struct NotificationPreviews: ViewContext {
    let apple: PreviewCard?
    let android: PreviewCard?
    let browser: PreviewCard?
}

/// A campaign's message, rendered for one recipient.
struct CampaignPreview: ViewContext {
    /// Variant, language and recipient; nothing where there is nothing to choose.
    let form: FilterForm?
    /// The recipient that it is rendered for, or why it cannot be rendered.
    let note: String?
    let screens: NotificationPreviews?
}

/// A message as one screen shows it.
struct PreviewCard: ViewContext {
    /// The app's name as the configuration has it, or the site's.
    let app: String
    /// The app's first letter, in the place of its picture.
    let initial: String
    let title: String?
    let subtitle: String?
    /// What is longer than the screen shows is cut as there.
    let body: String?
    /// Where it is the site's address.
    let origin: String?
    /// An image belongs to it; the console loads none.
    let image: String?
    let buttons: [String]
    /// On the app's picture.
    let badge: String?
    /// Nothing is shown: data only, or a background push.
    let silent: String?
    /// As in `412 of 4,096 bytes`.
    let size: String
    let isTooLarge: Bool
    /// What the screen does not show: sound, priority, collapse.
    let facts: [Fact]
    /// The message as it is sent, without token.
    let json: String
}
