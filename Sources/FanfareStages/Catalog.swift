/// The rules and targets that this daemon has read, by id.
package struct Catalog: Sendable {
    package let rules = RuleCache()
    package let targets = TargetDirectory()

    package init() {}
}
