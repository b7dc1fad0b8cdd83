import FanfareCore
import Testing

@testable import FanfareProviders

struct AccessTokenTimesTests {
    /// The token is requested at 100 s; the answer arrives at 103 s.
    @Test(
        arguments: [
            (3600, 3700, 3340), (3599, 3699, 3339), (nil, 3700, 3340), (300, 400, 250), (720, 820, 460), (10, 110, 105),
            (86_400, 86_500, 86_140), (1e300, 86_500, 86_140), (1e19, 86_500, 86_140),
            (Double.infinity, 86_500, 86_140),
        ] as [(Double?, Int64, Int64)]
    )
    func areTakenFromTheAnswer(expiresIn: Double?, end: Int64, renewal: Int64) {
        let times = times(expiresIn)
        #expect(times.expiresAt == end * Micros.second)
        #expect(times.renewsAt == renewal * Micros.second)
        #expect(times.nextFetchAt == 113 * Micros.second)
    }

    @Test(arguments: [1, 0.5, 0, -1, -1e300, -Double.infinity, Double.nan])
    func aTokenThatEndsAtOnceIsAskedForWithPauses(expiresIn: Double) {
        let times = times(expiresIn)
        #expect(times.expiresAt == 101 * Micros.second && times.renewsAt == 100_500_000)
        #expect(times.nextFetchAt == 113 * Micros.second)
    }

    private func times(_ expiresIn: Double?) -> AccessTokenTimes {
        AccessTokenTimes(asked: 100 * Micros.second, answered: 103 * Micros.second, expiresIn: expiresIn)
    }
}
