extension DefinitionKey {
    /// The keys of `fanfare.send`, in the order in which they are checked.
    static let send: [DefinitionKey] = [
        DefinitionKey(
            "app",
            .appName,
            isRequired: true,
            "The app whose devices get the message: its name in the configuration."
        ),
        DefinitionKey(
            "to",
            .keys(.sendAudience),
            isRequired: true,
            hint: #"say whom the message reaches, as in {"users": "ada"}"#,
            "The audience: exactly one of the eight keys from `users` to `channel`, and optionally the filters `devices`, `provider`, `kind`, `permission` and `presents`."
        ),
        DefinitionKey(
            "message",
            .object,
            isRequired: true,
            hint: #"say what to send, as in {"notification": {"title": "Hello"}}"#,
            "The message: an FCM v1 message without its target, as in a rule. Its texts are sent as they are; `{{` in them is not a template."
        ),
        DefinitionKey(
            "at",
            .string,
            "When the message is sent: a time of RFC 3339, or a duration from now such as `4h`. Its ttl begins then."
        ),
        DefinitionKey(
            "key",
            .text,
            range: "at most 2048 bytes",
            hint: "leave the key out of a message that may be sent again",
            "The idempotency key: a second message of the app with the same key is not sent."
        ),
        DefinitionKey(
            "ttl",
            .duration(DefinitionForm.anyDuration),
            "The time during which the message may be sent. Without `ttl`, Fanfare gives up after 24 h."
        ),
        DefinitionKey(
            "category",
            .label,
            reason: "cannot be a category",
            "The category of the message, from which users can opt out, and which they can snooze."
        ),
        DefinitionKey(
            "lane",
            .word(Lane.allCases.map(\.name)),
            standard: Lane.normal.name,
            "The queue in which the pushes wait: `transactional` never waits behind the other lanes, and `bulk` is for broadcasts."
        ),
        DefinitionKey(
            "collapse",
            .text,
            range: "at most 512 bytes",
            hint: #"say which messages replace each other, as in "order-7""#,
            "A newer push with the same id replaces an older one on the device. An id that a provider cannot take is hashed."
        ),
        report(standard: "that of the app's policy"),
    ]

    /// The keys of a message's `to`: values where a rule has paths and templates.
    static let sendAudience: [DefinitionKey] =
        [
            DefinitionKey(
                "users",
                .ids,
                reason: "is neither a user nor a list of users",
                hint: #"write the ids that devices are registered with, as in "ada" or ["ada", "bob"]"#,
                "The ids of users, one or many."
            ),
            DefinitionKey(
                "tokens",
                .ids,
                reason: "is neither a token nor a list of tokens",
                hint: "write a token of the provider, or a list of them",
                "Tokens, one or many. They need `to.provider`. Unknown tokens are registered."
            ),
            DefinitionKey(
                "topic",
                .string,
                range: "1 to \(TopicName.lengthLimit) of a-z A-Z 0-9 - _ . ~ %",
                "The devices that subscribed to a topic."
            ),
            DefinitionKey(
                "condition",
                .string,
                range: "at most \(TopicClause.topicLimit) topics",
                "The devices whose topics satisfy a condition, such as `'news' in topics && !('muted' in topics)`."
            ),
            DefinitionKey("everyone", .yes, hint: #"write "everyone": true"#, "All devices of the app."),
            DefinitionKey("fcm_topic", .string, "One of FCM's own topics, reached by a single request."),
            DefinitionKey(
                "fcm_condition",
                .string,
                range: "at most \(NativeAudience.topicLimit) topics",
                "A condition on FCM's own topics, reached by a single request."
            ),
            DefinitionKey("channel", .string, "The id of an APNs broadcast channel, reached by a single request."),
        ] + audience.filter { filters.contains($0.name) }
}
