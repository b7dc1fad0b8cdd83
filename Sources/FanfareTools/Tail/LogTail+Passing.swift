internal import PostgresClient

extension LogTail.Filter {
    /// Returns whether the filter selects a line that was read without a filter.
    ///
    /// - Parameter line: any line.
    /// - Returns: the result that reading with this filter would have.
    package func passes(_ line: TailLine) -> Bool {
        switch line.subject {
        case .campaign(let progress): return !hidesCampaigns && shows(progress.run)
        case .event(let fate, _, _):
            return !hidesEvents && isAbout(line) && (outcomes?.contains(fate) ?? true)
        case .push(let push):
            return isAbout(line) && (outcomes?.contains(push.outcome) ?? true) && (user ?? push.userID) == push.userID
                && (app ?? push.app) == push.app && (rule ?? push.rule) == push.rule
        }
    }

    private func isAbout(_ line: TailLine) -> Bool {
        (eventID ?? line.eventID) == line.eventID && (eventType ?? line.eventType) == line.eventType
    }
}

extension TailLine {
    /// When the row was written, in microseconds since 1970 by the database's clock: the reader's position.
    package var place: Int64 { at.microseconds }

    /// The approximate memory use in bytes.
    package var weight: Int {
        let texts: [String?] =
            switch subject {
            case .event(_, let key, let detail): [eventType, key, detail]
            case .push(let push): [eventType, push.rule, push.userID, push.detail]
            case .campaign: [eventType]
            }
        return texts.reduce(512) { $0 + ($1?.utf8.count ?? 0) }
    }
}
