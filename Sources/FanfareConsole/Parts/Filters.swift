internal import FanfareConsoleView
internal import FanfareHTTP
internal import FanfareRecords
internal import FanfareTools
internal import PostgresClient

/// A form whose fields go into the page's address.
struct FilterForm: ViewContext {
    /// The page's path.
    let action: String
    let fields: [FilterField]
    /// The filters in force, each with the address without it.
    let active: [PageLink]
    /// The address without any filter.
    let clear: String
    /// Whether there is anything to clear.
    let isActive: Bool
    /// The other parameters of the address, which are kept.
    var kept: [HiddenField] = []
}

/// A text, choice or time field.
struct FilterField: ViewContext {
    var text: TextField? = nil
    var choice: ChoiceField? = nil
}

/// A text field.
struct TextField: ViewContext {
    /// The name in the address.
    let name: String
    let label: String
    let value: String
    /// The input's type: `text`, `search` or `datetime-local`.
    var kind = "text"
    /// The step of a time field: whole seconds.
    var step: String? = nil
    var example: String? = nil
    /// The text below the field.
    var hint: String? = nil
    /// The error in the typed value.
    var problem: String? = nil
}

/// A field with several choices.
struct ChoiceField: ViewContext {
    let name: String
    let label: String
    let choices: [Choice]
}

/// One of the choices.
struct Choice: ViewContext {
    let value: String
    let label: String
    let isChosen: Bool
}

/// A hidden field of a form; never a token.
struct HiddenField: ViewContext {
    let name: String
    let value: String
}

/// The end of a list with keyset pagination.
struct Pager: ViewContext {
    /// The size of the part, such as `50 events` or `1,000+ devices`.
    let shown: String
    /// The address of the first part; nil on the first.
    var first: String? = nil
    /// The address of the next part.
    var next: String? = nil
    /// The time back to which was searched, if the search stopped before the end of the list.
    var searchedTo: Moment? = nil
    /// The address that continues the search from there.
    var further: String? = nil
    /// Whether the list goes towards later times.
    var isAscending = false
}

extension Pager {
    /// Creates the end of a list that is searched in bounded steps.
    ///
    /// - Parameters:
    ///   - shown: the size of the part.
    ///   - first: the address of the first part; nil on the first.
    ///   - next: the address of the next part.
    ///   - isStopped: whether the search stopped before the end of the list.
    ///   - searchedTo: the time back to which a stopped search looked.
    init(shown: String, first: String?, next: String?, isStopped: Bool, searchedTo: Timestamp? = nil) {
        self.init(
            shown: shown,
            first: first,
            next: isStopped ? nil : next,
            searchedTo: searchedTo.map { Moment($0.microseconds, .short) },
            further: isStopped ? next : nil
        )
    }
}

extension FilterForm {
    /// Creates a form of the page's filters; each filter in force is a link to the page without it.
    ///
    /// - Parameters:
    ///   - visit: the visit whose address has the filters.
    ///   - fields: the fields in their order.
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

    /// Creates a form that leads to another page, or to this one with other parameters.
    ///
    /// - Parameters:
    ///   - path: the page's path.
    ///   - fields: the fields in their order.
    ///   - kept: further parameters of the address; nil values are left out.
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

    /// Whether a field is invalid; the field has the error.
    var isMistaken: Bool { fields.contains { $0.text?.problem != nil } }
}

extension FilterField {
    /// The field's name in the address.
    fileprivate var name: String { text?.name ?? choice?.name ?? "" }

    /// Whether the field has no empty choice, so that a value always applies.
    fileprivate var isAlwaysSet: Bool { choice.map { !$0.choices.contains { $0.value.isEmpty } } ?? false }

    /// Creates a text field with its value from the address.
    ///
    /// - Parameters:
    ///   - name: the name in the address.
    ///   - label: the label.
    ///   - visit: the visit with the address.
    ///   - kind: the input's type.
    ///   - example: the placeholder.
    ///   - hint: the text below the field.
    ///   - problem: the error; nil for none.
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

    /// Creates a choice; a value that is not among the choices is shown in a text field with an error.
    ///
    /// - Parameters:
    ///   - name: the name in the address.
    ///   - label: the label.
    ///   - values: the choices; an empty value stands for all of them.
    ///   - visit: the visit with the address.
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

    /// Creates a time field; a relative time such as `4h` is shown as the absolute time.
    ///
    /// - Parameters:
    ///   - name: the name in the address.
    ///   - label: the label.
    ///   - visit: the visit with the address.
    ///   - problem: an error other than an invalid time; nil for none.
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
            // A browser shows an empty field for a value that is no time.
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

    /// Creates the field for the time that charts show.
    ///
    /// - Parameter visit: the request's visit.
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
    /// Returns the apps in the database.
    ///
    /// - Returns: their names, cached for all viewers; an app created since may be missing.
    /// - Throws: ``ToolError``.
    func apps() async throws -> [String] {
        let known = try await queries.apps.value(for: 0) { [database] in
            try await database.rows(of: SQL.appNames())
        }
        guard let app = filter("app"), !known.contains(app) else { return known }
        return try await database.rows(of: SQL.appNames())
    }
}

extension Empty {
    /// The text in the place of a list if a filter is invalid.
    static let mistaken = Empty(title: "Invalid filter", words: "Fix the filter above.")
}
