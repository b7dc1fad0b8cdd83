extension DefinitionKey {
    static let retractOn = [
        DefinitionKey("event", .eventType, isRequired: true, "The type of the events that take pushes back."),
        DefinitionKey(
            "by",
            .filledTemplate,
            range: "a single name, such as `{{room}}`",
            isRequired: true,
            hint: #"name the value that both payloads have, as in "{{room}}""#,
            "The value in both payloads: an event takes back the earlier events of the rule's type with the same value, the newest 50 at most."
        ),
        DefinitionKey(
            "user",
            .filledTemplate,
            range: "a single name, such as `{{user_id}}`",
            standard: "all users",
            hint: #"name the user in the payload of the event that takes back, as in "{{user_id}}""#,
            "The user in the payload of the event that takes back: pushes are taken back from this user's devices only."
        ),
        DefinitionKey(
            "within",
            .duration(60...2_592_000),
            standard: "24h",
            hint: "write a whole number with m, h or d, such as 30m, 24h or 7d",
            "How old an event can be that is taken back."
        ),
    ]
}
