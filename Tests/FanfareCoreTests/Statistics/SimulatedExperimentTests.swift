import FanfareCore
import Foundation
import Testing

/// Simulated campaigns that are looked at 20 times.
///
/// The seeds are fixed, so each run gives the same shares.
struct SimulatedExperimentTests {
    /// The number of successes among some recipients, drawn exactly, by inversion of the cumulative probabilities.
    private struct Binomial {
        private var cumulative: [Double] = []

        init(_ recipients: Int, rate: Double) {
            var probability = pow(1 - rate, Double(recipients))
            var sum = 0.0
            for successes in 0...recipients {
                sum += probability
                cumulative.append(sum)
                probability *= Double(recipients - successes) / Double(successes + 1) * rate / (1 - rate)
            }
        }

        func draw(using generator: inout SeededGenerator) -> Int {
            let random = Double.random(in: 0..<1, using: &generator)
            var (low, high) = (0, cumulative.count - 1)
            while low < high {
                let middle = (low + high) / 2
                if cumulative[middle] > random { high = middle } else { low = middle + 1 }
            }
            return low
        }
    }

    /// Simulates campaigns, each up to the look at which a winner is named.
    ///
    /// - Parameters:
    ///   - campaigns: the number of campaigns.
    ///   - rates: the true rate of each arm.
    ///   - perLook: the recipients of each arm that each look adds.
    ///   - test: the test at each look.
    ///   - seed: the seed.
    /// - Returns: the number of campaigns with each arm as the winner.
    private func winners(
        of campaigns: Int,
        rates: [Double],
        perLook: Int,
        test: RateTest,
        seed: UInt64
    ) throws -> [Int] {
        var generator = SeededGenerator(seed: seed)
        let added = rates.map { Binomial(perLook, rate: $0) }
        var wins = rates.map { _ in 0 }
        for _ in 0..<campaigns {
            var successes = rates.map { _ in 0 }
            for look in 1...20 {
                for arm in rates.indices { successes[arm] += added[arm].draw(using: &generator) }
                let arms = try rates.indices.map {
                    try ExperimentArm(name: "\($0)", share: 1, recipients: look * perLook, successes: successes[$0])
                }
                guard case .winner(let lead) = try Experiment(arms, test: test).verdict else { continue }
                wins[try #require(Int(lead.leader))] += 1
                break
            }
        }
        return wins
    }

    @Test func theAlwaysValidTestNamesFewWinnersWithoutADifference() throws {
        let named = try winners(of: 2000, rates: [0.1, 0.1], perLook: 500, test: .standard, seed: 1).reduce(0, +)
        #expect(named <= 100)
    }

    @Test func itNamesFewWinnersAmongFourEqualArms() throws {
        let rates = [0.1, 0.1, 0.1, 0.1]
        let named = try winners(of: 2000, rates: rates, perLook: 500, test: .standard, seed: 2).reduce(0, +)
        #expect(named <= 100)
    }

    /// The simulation can fail: the plain test, used at each look, names far more than 5 %.
    @Test func thePlainTestNamesManyWinnersWithoutADifference() throws {
        let named = try winners(of: 2000, rates: [0.1, 0.1], perLook: 500, test: .once, seed: 1).reduce(0, +)
        #expect(named > 300)
    }

    @Test func theAlwaysValidTestFindsADifference() throws {
        let wins = try winners(of: 1000, rates: [0.05, 0.06], perLook: 1250, test: .standard, seed: 3)
        #expect(wins[1] >= 900)
        #expect(wins[0] <= 5)
    }

    @Test func theAlwaysValidTestFindsTheBestOfFour() throws {
        let wins = try winners(of: 300, rates: [0.05, 0.05, 0.065, 0.05], perLook: 1250, test: .standard, seed: 4)
        #expect(wins[2] >= 270)
    }
}
