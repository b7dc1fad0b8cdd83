package import FanfareCore
package import FanfareProviders
package import FanfareStore
internal import Threading

/// The orders of operators and users that stop or slow pushes, as this daemon last read them.
///
/// They select what is claimed, and which batches are given back. Whether a batch may be claimed, and how fast, is
/// decided by the claim statement itself.
package final class Orders: Sendable {
    /// The cancellations, an index that grows by single rows.
    package let cancels = CancelIndex()
    private let latest = Locked(OrderSnapshot())

    package init() {}

    /// The other orders, which a reader takes once for each batch or turn.
    package var current: OrderSnapshot { latest.withLock { $0 } }

    /// Replaces the gates with those read from the database.
    ///
    /// - Parameter gates: the gates that are not done.
    /// - Returns: whether anything changed.
    package func replace(gates: [Gate]) -> Bool {
        latest.withLock { old in
            let fresh = KnownGates(gates, version: old.gates.version + 1)
            guard fresh.byID != old.gates.byID else { return false }
            old = OrderSnapshot(after: old, gates: fresh)
            return true
        }
    }

    /// Replaces the rates and quiet hours with those read from the database.
    ///
    /// - Parameters:
    ///   - rates: all rates.
    ///   - quiet: all apps with quiet hours.
    /// - Returns: whether the rates changed.
    package func replace(rates: [AppRate], quiet: [String]) -> Bool {
        latest.withLock { old in
            let (rates, quiet) = (AppRates(rates), Set(quiet))
            let isChanged = rates != old.rates
            guard isChanged || quiet != old.quiet else { return false }
            old = OrderSnapshot(after: old, rates: isChanged ? rates : nil, quiet: quiet)
            return isChanged
        }
    }

    /// Replaces what decides about handles with what was read from the database.
    ///
    /// - Parameters:
    ///   - key: the key that signs handles; nil if there is none, and then no push has a handle.
    ///   - apps: the apps whose policy has `report: true`.
    package func replace(reportKey key: ReportKey?, apps: [String]) {
        latest.withLock { old in
            let reports = ReportOrders(key: key, apps: Set(apps))
            if reports != old.reports { old = OrderSnapshot(after: old, reports: reports) }
        }
    }

    /// Records changed preferences.
    ///
    /// - Parameter apps: the apps with changes since the last query.
    package func said(in apps: [String]) {
        guard !apps.isEmpty else { return }
        latest.withLock { old in
            old = OrderSnapshot(after: old, preferences: old.preferences.said(in: apps))
        }
    }
}

/// The orders at one time.
///
/// It is an object, because reading it then takes one lock and one reference.
package final class OrderSnapshot: Sendable {
    package let gates: KnownGates
    /// All rates.
    package let rates: AppRates
    /// A number that grows whenever the set of rates changes.
    package let ratesVersion: Int
    /// The apps that have quiet hours; usually none.
    ///
    /// The set only selects the apps whose pushes need the check. The check itself reads the hours and the users.
    package let quiet: Set<String>
    package let preferences: PreferenceVersions
    package let reports: ReportOrders

    /// Creates a snapshot in which some orders are new.
    fileprivate init(
        after old: OrderSnapshot? = nil,
        gates: KnownGates? = nil,
        rates: AppRates? = nil,
        quiet: Set<String>? = nil,
        preferences: PreferenceVersions? = nil,
        reports: ReportOrders? = nil
    ) {
        self.gates = gates ?? old?.gates ?? KnownGates([], version: 0)
        self.rates = rates ?? old?.rates ?? AppRates([])
        ratesVersion = (old?.ratesVersion ?? 0) + (rates == nil ? 0 : 1)
        self.quiet = quiet ?? old?.quiet ?? []
        self.preferences = preferences ?? old?.preferences ?? PreferenceVersions()
        self.reports = reports ?? old?.reports ?? .none
    }

    /// Whether any batches are under a rate.
    package var arePaced: Bool { gates.arePaced || !rates.isEmpty }
}

/// Which pushes have a handle for reports, and the key that signs it.
package struct ReportOrders: Equatable, Sendable {
    /// No push has a handle.
    package static let none = ReportOrders(key: nil, apps: [])

    fileprivate let key: ReportKey?
    fileprivate let apps: Set<String>

    /// Returns the key if pushes of a rule have a handle.
    package func key(of rule: RuleDefinition) -> ReportKey? {
        (rule.reports.isOn ?? apps.contains(rule.app)) ? key : nil
    }
}

/// The gates that are not done.
package struct KnownGates: Sendable {
    /// A number that grows whenever a gate is added, removed, opened or closed.
    package let version: Int
    /// The open gates that have batches waiting behind them.
    package let open: [Gate]
    /// The gates that are aborting: their batches are ended.
    package let aborting: [Gate]
    /// Whether an open gate has a rate.
    fileprivate let arePaced: Bool
    fileprivate let byID: [Int32: Gate]

    fileprivate init(_ gates: [Gate], version: Int) {
        self.version = version
        byID = Dictionary(gates.map { ($0.id, $0) }) { first, _ in first }
        open = gates.filter { $0.isOpen && !$0.isIdle }
        aborting = gates.filter { $0.state == .aborting }
        arePaced = open.contains(where: \.isPaced)
    }

    /// Whether no gate is known.
    package var isEmpty: Bool { byID.isEmpty }

    /// Returns whether batches behind a gate must not be sent; an unknown gate counts as closed.
    ///
    /// - Parameter gate: the gate's id; 0 for no gate, which is always open.
    /// - Returns: true if such a batch must be given back.
    package func isClosed(_ gate: Int32) -> Bool { gate != 0 && byID[gate]?.isOpen != true }
}

/// The rates of apps and providers.
package struct AppRates: Equatable, Sendable {
    private let byApp: [String: [AppRate]]

    package init(_ rates: [AppRate]) {
        byApp = Dictionary(grouping: rates, by: \.app)
    }

    /// Whether there are no rates.
    package var isEmpty: Bool { byApp.isEmpty }

    /// Returns the rates that apply to a target's batches in a lane.
    ///
    /// - Parameters:
    ///   - target: the target.
    ///   - lane: the lane; the transactional lane has no rates.
    /// - Returns: the ids of the rates, sorted; usually none.
    package func of(_ target: Target, in lane: Lane) -> [Int32] {
        guard lane != .transactional, let rates = byApp[target.app] else { return [] }
        return rates.filter { $0.provider == nil || $0.provider == target.provider }.map(\.id).sorted()
    }
}

/// Per app, a version number that grows when users change their preferences.
///
/// It covers batches that are already prepared. Earlier changes are seen when the tokens of a batch are read.
package struct PreferenceVersions: Sendable {
    private var byApp: [String: Int] = [:]
    /// The sum of all apps' versions.
    package private(set) var version = 0

    /// Returns an app's version, which grows whenever one of its users changes a preference.
    package func version(of app: String) -> Int { byApp[app] ?? 0 }

    fileprivate func said(in apps: [String]) -> PreferenceVersions {
        var fresh = self
        for app in apps { fresh.byApp[app, default: 0] += 1 }
        fresh.version += apps.count
        return fresh
    }
}
