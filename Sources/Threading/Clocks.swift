/// The clocks and the random numbers of the daemon.
package enum Clocks {
    private static let start = ContinuousClock.now

    #if DEBUG
        /// Replaces the machine's clocks and random numbers in simulations of whole daemons; debug builds only.
        package struct Simulated: Sendable {
            package let steady: Int64
            package let wall: Int64
            package let unit: @Sendable () -> Double

            package init(steady: Int64, wall: Int64, unit: @escaping @Sendable () -> Double) {
                (self.steady, self.wall, self.unit) = (steady, wall, unit)
            }
        }

        @TaskLocal package static var simulated: Simulated?
    #endif

    /// Microseconds since the process's start on CLOCK_BOOTTIME, which continues while the machine is suspended.
    package static var steady: Int64 {
        #if DEBUG
            if let simulated { return simulated.steady }
        #endif
        return (ContinuousClock.now - start).inMicroseconds
    }

    /// Returns the instant of a steady time.
    package static func instant(ofSteady time: Int64) -> ContinuousClock.Instant {
        start + .microseconds(time)
    }

    /// The wall clock of this machine in microseconds since 1970.
    package static var wall: Int64 {
        #if DEBUG
            if let simulated { return simulated.wall }
        #endif
        return KernelClock.realTime.microseconds
    }

    /// The wall clock in whole seconds since 1970, the unit of certificates and tokens.
    package static var wallSeconds: Int64 { wall / 1_000_000 }

    /// A random number, uniformly distributed in 0..<1.
    package static var unitRandom: Double {
        #if DEBUG
            if let simulated { return simulated.unit() }
        #endif
        return .random(in: 0..<1)
    }
}

extension Duration {
    /// The duration in whole microseconds.
    package var inMicroseconds: Int64 {
        components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000
    }
}
