/// A form whose fields go into the page's address.
struct FilterForm: ViewContext {
    /// The page's path.
    let action: String
    let fields: [FilterField]
    /// What is filtered by now, each with the address without it.
    let active: [PageLink]
    /// The page without any filter.
    let clear: String
    /// Whether there is anything to clear.
    let isActive: Bool
    /// What is kept of the address beside the fields.
    var kept: [HiddenField] = []
}

/// One of text, choice, or time.
struct FilterField: ViewContext {
    var text: TextField? = nil
    var choice: ChoiceField? = nil
}

/// A field to type in.
struct TextField: ViewContext {
    /// Its name in the address.
    let name: String
    let label: String
    let value: String
    /// `text`, `search` or `datetime-local`.
    var kind = "text"
    /// Of a time: whole seconds.
    var step: String? = nil
    var example: String? = nil
    /// Stands below.
    var hint: String? = nil
    /// What is wrong with what was typed.
    var problem: String? = nil
}

/// A field to choose in.
struct ChoiceField: ViewContext {
    let name: String
    let label: String
    let choices: [Choice]
}

/// One of several.
struct Choice: ViewContext {
    let value: String
    let label: String
    let isChosen: Bool
}

/// What a form sends without showing it; never a token.
struct HiddenField: ViewContext {
    let name: String
    let value: String
}

/// The end of a list that is read by keys, not by numbers of pages.
struct Pager: ViewContext {
    /// As in `50 events` or `1,000+ devices`.
    let shown: String
    /// The address of the first part; nothing on it.
    let first: String?
    /// The address of what comes next.
    let next: String?
    /// Set where the search ended before the list did: how far back it looked.
    let searchedTo: Moment?
    /// Goes on from there.
    let further: String?
}
