/// A page that says what an action would do, before it does it.
struct ConfirmPage: ViewContext {
    /// Its title is the question, as in `Restore 1,204 devices?`.
    let frame: Frame
    /// What will happen, in a sentence.
    let words: String
    /// How much it is about: `1,204`, with its noun.
    let count: String
    let counted: String
    /// What cannot be undone.
    let warning: String?
    let facts: [Fact]
    /// Some of what it is about.
    let samples: SampleTable?
    /// Where it is sent.
    let action: String
    /// The filter again, and the count that was shown: another one then is asked about again.
    let kept: [HiddenField]
    /// Proof that this browser was shown this page.
    let seal: String
    /// Whether the reason may be left out.
    let isReasonOptional: Bool
    /// As in `Restore 1,204 devices`.
    let verb: String
    let isDangerous: Bool
    /// Nothing can be done: there is no button.
    let isImpossible: Bool
    /// Back to where one came from.
    let cancel: String
}

/// Some of what an action is about.
struct SampleTable: ViewContext {
    let heads: [String]
    let rows: [SampleLine]
}

/// A line of it.
struct SampleLine: ViewContext {
    let cells: [String]
}
