internal import FanfareStore

/// The rows read for a hook, and the position after them.
struct FeedbackSlice {
    private(set) var items: [FeedbackItem] = []
    /// The position after the slice.
    private(set) var end: FeedbackPlace
    /// Whether more outcomes may follow the slice.
    private(set) var hasMore: Bool
    private var lostNumbers: [Int64] = []

    /// The number of batches in the slice whose log rows were already deleted.
    var lost: Int64 { Int64(lostNumbers.count { $0 <= end.number }) }

    /// Creates a slice from rows.
    ///
    /// - Parameters:
    ///   - rows: the rows, in order.
    ///   - place: the position if there are no rows.
    ///   - isFixed: whether the slice ends at `place` regardless of the rows.
    init(_ rows: [FeedbackRow], before place: FeedbackPlace, isFixed: Bool) {
        end = place
        var numbers: Set<Int64> = []
        for row in rows {
            switch row {
            case .item(let item):
                items.append(item)
                numbers.insert(item.place.number)
                if !isFixed { end = item.place }
            case .nothing(let number), .lost(let number):
                if case .lost = row { lostNumbers.append(number) }
                numbers.insert(number)
                if !isFixed { end = FeedbackPlace(number: number) }
            }
        }
        let isCut = rows.count >= FeedbackRow.limit
        hasMore = isCut || numbers.count >= FeedbackRow.batches
        // Without a cut the last batch was read completely.
        if !isCut && !isFixed { end = FeedbackPlace(number: end.number) }
    }

    /// Removes the items that do not fit into a request.
    ///
    /// - Parameter count: the number of items to keep.
    mutating func cut(to count: Int) {
        guard count < items.count else { return }
        items.removeLast(items.count - count)
        end = items[count - 1].place
        hasMore = true
    }
}
