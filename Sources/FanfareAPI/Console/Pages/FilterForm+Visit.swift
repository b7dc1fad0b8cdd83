internal import FanfareTools

extension FilterForm {
    /// A form of the page's filters, with those in force as links to the page without them.
    ///
    /// - Parameters:
    ///   - visit: whose address has them.
    ///   - fields: in their order.
    init(_ visit: Visit, _ fields: [FilterField]) {
        let active = fields.filter { !$0.isAlwaysSet }.map(\.name).compactMap { name in
            visit.filter(name).map { value in
                let isTime = name == "since" || name == "until"
                let time = isTime ? PageTime(value, at: visit.now).map { "\(Moment($0.microseconds).words)" } : nil
                return PageLink(name: "\(name) \(time ?? value)", href: visit.address([name: nil]))
            }
        }
        self.init(
            action: visit.call.path,
            fields: fields,
            active: active,
            clear: visit.call.path,
            isActive: !active.isEmpty
        )
    }

    /// A form that asks another page, or this one for something else.
    ///
    /// - Parameters:
    ///   - path: of the page.
    ///   - fields: in their order.
    ///   - kept: what else is in the address; nil values are left out.
    init(to path: String, _ fields: [FilterField], keeping kept: KeyValuePairs<String, String?> = [:]) {
        self.init(
            action: path,
            fields: fields,
            active: [],
            clear: path,
            isActive: false,
            kept: kept.compactMap { name, value in value.map { HiddenField(name: name, value: $0) } }
        )
    }

    /// Whether something of it cannot be looked for; its field says what.
    var isMistaken: Bool { fields.contains { $0.text?.problem != nil } }
}

extension FilterField {
    /// In the address.
    fileprivate var name: String { text?.name ?? choice?.name ?? "" }

    /// Whether the page is of one of the values even where the address has none.
    fileprivate var isAlwaysSet: Bool { choice.map { !$0.choices.contains { $0.value.isEmpty } } ?? false }

    /// A field to type in, with what is in the address.
    ///
    /// - Parameters:
    ///   - name: in the address.
    ///   - label: for people.
    ///   - visit: whose address.
    ///   - kind: of the input.
    ///   - example: what one might type.
    ///   - hint: stands below.
    ///   - problem: what is wrong with it.
    /// - Returns: the field.
    static func typed(
        _ name: String,
        _ label: String,
        _ visit: Visit,
        kind: String = "search",
        example: String? = nil,
        hint: String? = nil,
        problem: String? = nil
    ) -> FilterField {
        FilterField(
            text: TextField(
                name: name,
                label: label,
                value: visit.filter(name) ?? "",
                kind: kind,
                example: example,
                hint: hint,
                problem: problem
            )
        )
    }

    /// A field to choose in; what is none of the values is typed in instead, and the field says so.
    ///
    /// - Parameters:
    ///   - name: in the address.
    ///   - label: for people.
    ///   - values: that there are; nothing means all of them.
    ///   - visit: whose address.
    /// - Returns: the field.
    static func chosen(_ name: String, _ label: String, _ values: [String], _ visit: Visit) -> FilterField {
        let chosen = visit.filter(name)
        if let chosen, !values.contains(chosen) {
            let there = values.isEmpty ? "" : " There are: \(values.joined(separator: ", "))."
            return typed(name, label, visit, problem: "No such value.\(there)")
        }
        let choices = [Choice(value: "", label: "all", isChosen: chosen == nil)]
        return FilterField(
            choice: ChoiceField(
                name: name,
                label: label,
                choices: choices + values.map { Choice(value: $0, label: $0, isChosen: $0 == chosen) }
            )
        )
    }

    /// A time; what was typed as so long ago is shown as the time that it was.
    ///
    /// - Parameters:
    ///   - name: in the address.
    ///   - label: for people.
    ///   - visit: whose address.
    ///   - problem: what is wrong with it beside that it may be no time.
    /// - Returns: the field.
    static func time(_ name: String, _ label: String, _ visit: Visit, problem: String? = nil) -> FilterField {
        guard let text = visit.filter(name) else {
            return FilterField(
                text: TextField(
                    name: name,
                    label: label,
                    value: "",
                    kind: "datetime-local",
                    step: "1",
                    problem: problem
                )
            )
        }
        guard let time = PageTime(text, at: visit.now) else {
            // A browser would show nothing of what is no time.
            return typed(name, label, visit, problem: "Not a time: write 2026-11-26T12:00, in UTC, or 4h.")
        }
        return FilterField(
            text: TextField(
                name: name,
                label: label,
                value: time.field,
                kind: "datetime-local",
                step: "1",
                problem: problem
            )
        )
    }

    /// How much time charts show.
    ///
    /// - Parameter visit: whose.
    /// - Returns: the field.
    static func span(_ visit: Visit) -> FilterField {
        FilterField(
            choice: ChoiceField(
                name: "span",
                label: "Time",
                choices: PageSpan.allCases.map {
                    Choice(value: $0.rawValue, label: $0.label, isChosen: $0 == visit.span)
                }
            )
        )
    }
}

extension Visit {
    /// The apps that the database knows.
    ///
    /// - Returns: their names, read for many viewers at once; an app that is asked for may be younger.
    /// - Throws: ``ToolError``.
    func apps() async throws -> [String] {
        let known = try await call.context.queries.apps.value(for: 0) { [database] in try await database.appNames() }
        guard let app = filter("app"), !known.contains(app) else { return known }
        return try await database.appNames()
    }
}

extension Empty {
    /// The form says what is wrong with it.
    static let mistaken = Empty(title: "Invalid filter", words: "Fix the filter above.", command: nil)
}
