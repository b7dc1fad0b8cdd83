internal import FanfareConsoleView

/// The page that confirms an action and shows its effect.
struct ConfirmPage: ViewContext {
    /// The frame; its title is the question, such as `Restore 1,204 devices?`.
    let frame: Frame
    /// The effect, in a sentence.
    let words: String
    /// The number of affected objects: `1,204`, with its noun.
    let count: String
    let counted: String
    /// The part of the effect that cannot be undone.
    var warning: String? = nil
    var facts: [Fact] = []
    /// Some of the affected objects.
    var samples: SampleTable? = nil
    /// The address that the form is sent to.
    let action: String
    /// The filter, and the count that was shown: if the count has changed, the confirmation is asked for again.
    var kept: [HiddenField] = []
    /// The proof that this browser was shown this page.
    let seal: String
    /// The button's text, such as `Restore 1,204 devices`.
    let verb: String
    let isDangerous: Bool
    /// Whether the action is not possible; there is no button then.
    let isImpossible: Bool
    /// The link back to the page before.
    let cancel: String
}

/// Some of the objects that an action affects.
struct SampleTable: ViewContext {
    let heads: [String]
    let rows: [SampleLine]
}

/// A row of the table.
struct SampleLine: ViewContext {
    let cells: [String]
}
