internal import FanfareTools

extension ConsolePage {
    /// One user: devices, preferences, last pushes, and why one did not come.
    static let person = ConsolePage("/people", .person) { visit in
        PersonPage(
            frame: visit.frame("People", isLive: false),
            filter: .person(visit, apps: []),
            person: nil,
            empty: .noPerson
        )
    }
}

extension Empty {
    /// Nobody is asked for.
    fileprivate static let noPerson = Empty(
        title: "Whom?",
        words:
            "Type a user's id as your application knows it: devices, preferences, last pushes, and why one did not come.",
        command: nil
    )
}

extension FilterForm {
    /// Whom one asks for.
    ///
    /// - Parameters:
    ///   - visit: by whom.
    ///   - apps: there are.
    /// - Returns: the form with what is in the address.
    static func person(_ visit: Visit, apps: [String]) -> FilterForm {
        FilterForm(
            action: "/people",
            fields: [
                FilterField(
                    text: TextField(name: "user", label: "User", value: visit.filter("user") ?? "", kind: "search")
                )
            ],
            active: [],
            clear: "/people",
            isActive: false
        )
    }
}
