internal import FanfareCore
package import PostgresClient

/// A claim whose response did not arrive, although the server may have made it.
package struct DoubtfulClaim: Hashable, Sendable {
    package let owner: Int32
    package let leaseToken: Int64

    package init(owner: Int32, leaseToken: Int64) {
        self.owner = owner
        self.leaseToken = leaseToken
    }
}

/// Releases all batches that some claims took.
package struct ReleaseClaims: PostgresStatement {
    package static let name = "release_claims"
    package static let sql = """
        UPDATE fanfare.batches AS b SET owner = NULL, lease_token = NULL, not_before = clock_timestamp()
        FROM unnest($1::int[], $2::bigint[]) AS c (owner, lease_token)
        WHERE b.owner = c.owner AND b.lease_token = c.lease_token
        """

    package let claims: [DoubtfulClaim]

    package init(claims: [DoubtfulClaim]) {
        self.claims = claims
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(claims.map(\.owner))
        binds.append(claims.map(\.leaseToken))
    }
}
