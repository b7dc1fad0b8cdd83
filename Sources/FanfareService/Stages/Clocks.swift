package import FanfareCore
internal import Threading

/// The clocks the stages read, and the chance they go by.
package enum Clocks {
    private static let start = ContinuousClock.now

    #if DEBUG
        /// What stands for the machine's clocks and chance where whole daemons are simulated; a release build has none.
        struct Simulated: Sendable {
            let steady: Microseconds
            let wall: Microseconds
            let unit: @Sendable () -> Double
        }

        @TaskLocal static var simulated: Simulated?
    #endif

    /// CLOCK_BOOTTIME: goes on while the machine sleeps.
    ///
    /// Counted from the process's start.
    package static var steady: Microseconds {
        #if DEBUG
            if let simulated { return simulated.steady }
        #endif
        return (ContinuousClock.now - start).inMicroseconds
    }

    /// The instant of a steady time.
    static func instant(ofSteady time: Microseconds) -> ContinuousClock.Instant {
        start + .microseconds(time)
    }

    /// The wall clock of this machine, microseconds since 1970.
    package static var wall: Microseconds {
        #if DEBUG
            if let simulated { return simulated.wall }
        #endif
        return KernelClock.realTime.microseconds
    }

    /// The wall clock in whole seconds since 1970, as certificates and tokens count.
    package static var wallSeconds: Int64 { wall / Micros.second }

    /// A random number, evenly distributed in 0..<1.
    static var unitRandom: Double {
        #if DEBUG
            if let simulated { return simulated.unit() }
        #endif
        return .random(in: 0..<1)
    }
}
