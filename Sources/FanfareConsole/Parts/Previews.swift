internal import FanfareConsoleView

/// A message as three screens show it.
struct NotificationPreviews: ViewContext {
    let apple: PreviewCard?
    let android: PreviewCard?
    let browser: PreviewCard?
}

/// A campaign's message, rendered for one recipient.
struct CampaignPreview: ViewContext {
    /// The choice of variant, language and recipient; nil without alternatives.
    let form: FilterForm?
    /// The recipient that it is rendered for, or the reason why it cannot be rendered.
    let note: String?
    let screens: NotificationPreviews?
}

/// A message as one screen shows it.
struct PreviewCard: ViewContext {
    /// The app's name in the configuration, or the site's.
    let app: String
    /// The app's first letter, in the place of its icon.
    let initial: String
    let title: String?
    let subtitle: String?
    /// The text, cut where the screen cuts it.
    let body: String?
    /// The site's address.
    let origin: String?
    /// The image's address; the console does not load it.
    let image: String?
    let buttons: [String]
    /// The number on the app's icon.
    let badge: String?
    /// The reason why nothing is shown: data only, or a background push.
    let silent: String?
    /// The size, such as `412 of 4,096 bytes`.
    let size: String
    let isTooLarge: Bool
    /// The properties that the screen does not show: sound, priority, collapse.
    let facts: [Fact]
    /// The message as it is sent, without the token.
    let json: String
}
