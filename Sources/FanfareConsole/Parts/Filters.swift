internal import FanfareConsoleView

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
}
