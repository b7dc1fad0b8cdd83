/// What a closed batch of many events is found by in the log.
///
/// A batch of one event is found by that, and by the range of its devices.
package struct LogIndex: Equatable {
    package let firstEvent: Int64
    package let lastEvent: Int64
    package let marks: DeviceMarks

    /// Describes a batch; nil where it has a single event.
    package init?(_ batch: ClaimedBatch) {
        guard batch.eventID == nil, let first = batch.eventIDs.min(), let last = batch.eventIDs.max() else {
            return nil
        }
        firstEvent = first
        lastEvent = last
        marks = DeviceMarks(batch.deviceIDs)
    }
}

/// Which devices a batch may hold: a Bloom filter, as `fanfare.may_hold` reads it.
///
/// The devices of events that were planned together lie anywhere between the first and the last, so their range tells
/// nothing. Two bytes for each tell of 199 in 200 batches that a device is not in them.
package struct DeviceMarks: Equatable {
    private static let bytesPerDevice = 2

    package let bytes: [UInt8]

    /// Marks devices.
    ///
    /// Three bits for each, in three parts of the bytes: its id modulo the part's length. The lengths have no divisor in
    /// common, so that two devices rarely share more than one.
    ///
    /// - Parameter deviceIDs: at least one; none negative.
    package init(_ deviceIDs: [Int64]) {
        var bytes = [UInt8](repeating: 0, count: deviceIDs.count * Self.bytesPerDevice)
        let length = Int64(bytes.count * 8 / 3 - 1 | 1)
        for id in deviceIDs {
            for bit in [id % length, length + id % (length - 1), 2 * length - 1 + id % (length - 2)] {
                bytes[Int(bit / 8)] |= 1 << UInt8(bit % 8)
            }
        }
        self.bytes = bytes
    }
}
