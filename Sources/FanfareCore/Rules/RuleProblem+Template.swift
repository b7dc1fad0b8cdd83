extension TextTemplate {
    /// Compiles a template of a rule.
    ///
    /// - Parameters:
    ///   - source: the template.
    ///   - path: the template's path in the rule.
    /// - Throws: `RuleProblem` if it is refused.
    package init(_ source: String, path: String) throws(RuleProblem) {
        do throws(TemplateProblem) {
            try self.init(source)
        } catch {
            throw RuleProblem(path: path, error)
        }
    }
}
