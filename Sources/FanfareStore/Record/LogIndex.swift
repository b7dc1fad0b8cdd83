/// The columns by which a closed batch of many events is found in the log.
///
/// A batch of one event is found by the event, and by the range of its devices.
package struct LogIndex: Equatable {
    package let firstEvent: Int64
    package let lastEvent: Int64
    package let marks: DeviceMarks

    /// Creates the columns for a batch; nil if it has a single event.
    package init?(_ batch: ClaimedBatch) {
        guard batch.eventID == nil, let first = batch.eventIDs.min(), let last = batch.eventIDs.max() else {
            return nil
        }
        firstEvent = first
        lastEvent = last
        marks = DeviceMarks(batch.deviceIDs)
    }
}

/// A Bloom filter of the devices in a batch, as `fanfare.may_hold` reads it.
///
/// The devices of events that were planned together lie anywhere between the first and the last, so their range
/// excludes little. Two bytes per device exclude 199 of 200 batches without the device.
package struct DeviceMarks: Equatable {
    private static let bytesPerDevice = 2

    package let bytes: [UInt8]

    /// Creates the filter of some devices.
    ///
    /// Each has three bits, in three parts of the bytes: its id modulo the part's length. The lengths are pairwise
    /// coprime, so that two devices rarely share more than one.
    ///
    /// - Parameter deviceIDs: the devices, at least one; none negative.
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
