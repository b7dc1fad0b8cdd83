extension DefinitionKey {
    static let conversion = [
        DefinitionKey("event", .eventType, "The type of the events that count. Required without `conversion_sql`."),
        DefinitionKey(
            "user",
            .jsonpath,
            range: "names only, such as `$.new.customer_id`",
            "The user in the payload of such an event. Required without `conversion_sql`."
        ),
        DefinitionKey(
            "within",
            .duration(60...2_592_000),
            standard: "24h",
            hint: "write a whole number with m, h or d, such as 30m, 24h or 7d",
            "How long after a push an event, or a row of the query, counts."
        ),
        DefinitionKey(
            "value",
            .jsonpath,
            range: "names only, such as `$.new.total`",
            "A number in the payload of such an event. The values of all events are summed, of all currencies alike."
        ),
    ]

    static let experiment = [
        DefinitionKey(
            "share",
            .share(1...500_000),
            range: "above 0% to 50%, with at most four decimals",
            isRequired: true,
            hint: "write a share such as 20% or 0.5%",
            "The share of the audience that gets the push first, divided by the variants' weights."
        ),
        DefinitionKey(
            "wait",
            .duration(60...604_800),
            standard: "2h",
            hint: "write a whole number with m, h or d, such as 2h",
            "The time between the first responses and the first evaluation. Later ones follow each quarter of it, 20 in all."
        ),
        DefinitionKey(
            "by",
            .word(["opened", "converted"]),
            standard: "opened",
            "What is compared: the share of people who opened the push, or who converted. `opened` needs `report: true`, `converted` needs `conversion` or `conversion_sql`."
        ),
        DefinitionKey(
            "unclear",
            .word(["hold", "best"]),
            standard: "hold",
            "What happens if no variant is clearly better at the first evaluation: the rest waits for a later evaluation or an operator, or gets the variant with the highest rate."
        ),
    ]
}
