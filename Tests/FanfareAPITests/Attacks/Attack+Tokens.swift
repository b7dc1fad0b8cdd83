import FanfareCore
import Foundation

@testable import APIKit
@testable import FanfareTools

extension Attack {
    private static let header = #"{"alg": "HS256", "kid": "h"}"#

    /// Missing, invalid and insufficient tokens.
    static let tokens: [Attack] = [
        Attack("no token, two tokens, a token of another scheme, a token in the query", "401") { ground in
            [
                Request(ground.ask(), 401), Request(ground.ask("GET", "/v1/status?access_token=\(ground.token)"), 401),
                Request(ground.ask("GET", "/v1/status", token: "\(ground.token) x"), 401),
                Request(ground.ask("GET", "/v1/status", token: ground.token, with: ["Authorization: Bearer x"]), 401),
                Request(ground.ask("GET", "/v1/status", with: ["Authorization: Basic \(ground.token)"]), 401),
                Request(ground.ask("GET", "/v1/status", with: ["Cookie: token=\(ground.token)"]), 401),
            ]
        },
        Attack("an invented token, or an existing token's id with another secret", "401") { ground in
            let id = Int32(ground.token.split(separator: "_")[1]) ?? 0
            return [APITokens.unknown, APIToken(id: id, secret: String(repeating: "0", count: 64)).text].map {
                Request(ground.ask(token: $0), 401)
            }
        },
        Attack("a token without the scope, or for another app", "403") { ground in
            [
                Request(ground.ask("POST", "/v1/events", token: ground.token, body: #"{"type": "t"}"#), 403),
                Request(ground.ask(token: ground.bankToken), 403),
                Request(ground.ask("GET", "/v1/status", token: ground.bankToken), 403),
            ]
        },
        Attack("a phone's token signed with another app's key", "401") { ground in
            [
                Request(ground.ask(token: ground.bank.token("ann")), 401),
                Request(
                    ground.phone(#"{"alg": "ES256", "kid": "e"}"#, TokenForge.claims("ann"), .p256(ground.bank.p256)),
                    401
                ),
                Request(ground.ask("GET", "/v1/apps/news/devices", token: ground.shop.token("ann")), 401),
            ]
        },
        Attack("a phone's token that has expired, never expires, or expires in 25 hours", "401") { ground in
            let now = TokenForge.now
            return ["", #", "exp": \#(now - 120)"#, #", "exp": \#(now + 25 * 3600)"#, #", "exp": 1e300"#].map { end in
                Request(
                    ground.phone(header, #"{"sub": "ann", "aud": "shop"\#(end)}"#, .secret(ground.shop.secret)),
                    401
                )
            }
        },
        Attack("`alg: none`, with and without a signature", "401") { ground in
            ["none", "None", "NONE", "nOnE", ""].flatMap { algorithm in
                let header = #"{"alg": "\#(algorithm)", "kid": "h"}"#
                return [.nothing, .secret(ground.shop.secret)].map {
                    Request(ground.phone(header, TokenForge.claims("ann"), $0), 401)
                }
            }
        },
        Attack("HS256 with the public key of ES256 or EdDSA as secret", "401") { ground in
            let keys = [
                ground.shop.point, Array(ground.shop.pointPEM.utf8), Array(ground.shop.p256Key.utf8),
                ground.shop.ed25519.publicKey,
            ]
            return keys.flatMap { key in
                ["e", "o", "h"].map { id in
                    Request(
                        ground.phone(#"{"alg": "HS256", "kid": "\#(id)"}"#, TokenForge.claims("ann"), .secret(key)),
                        401
                    )
                }
            }
        },
        Attack("another `alg` than the key's; a `kid` that does not exist, or that is a path", "401") { ground in
            [
                #""alg": "ES256", "kid": "h""#, #""alg": "HS512", "kid": "h""#, #""alg": "HS256", "kid": "e""#,
                #""alg": "HS256", "kid": "x""#, #""alg": "HS256", "kid": "/dev/null""#, #""alg": "HS256""#,
            ].map { Request(ground.phone("{\($0)}", TokenForge.claims("ann"), .secret(ground.shop.secret)), 401) }
        },
        Attack("`jwk`, `jku`, `x5u`, `crit` in a token's header", "401") { ground in
            let evil = TokenForge()
            return [
                #""jwk": \#(evil.secretKey)"#, #""jku": "https://evil.example/keys""#,
                #""x5u": "https://evil.example/c.pem""#, #""crit": ["b64"], "b64": false"#,
            ].map { member in
                let header = #"{"alg": "HS256", "kid": "h", \#(member)}"#
                return Request(ground.phone(header, TokenForge.claims("ann"), .secret(ground.shop.secret)), 401)
            }
        },
        Attack("claims that were changed, are for somebody else, or occur twice", "401") { ground in
            let parts = ground.shop.token("ann").split(separator: ".").map(String.init)
            let other = ground.shop.token("bob").split(separator: ".").map(String.init)
            let claims = [
                TokenForge.claims("ann").replacing("shop", with: "others"),
                TokenForge.claims("ann", #""sub": "bob""#),
                TokenForge.claims(""), TokenForge.claims(#"a\u0000"#), "[]", "null",
            ]
            return [Request(ground.ask(token: "\(parts[0]).\(other[1]).\(parts[2])"), 401)]
                + claims.map { Request(ground.phone(header, $0, .secret(ground.shop.secret)), 401) }
        },
        Attack("a phone sends a request that only backends may send", "403") { ground in
            let token = ground.shop.token("ann")
            return [
                ("POST", "/v1/events"), ("GET", "/v1/tail"), ("GET", "/v1/status"),
                ("DELETE", "/v1/apps/shop/users/ann"), ("GET", "/v1/apps/shop/users/ann/deliveries"),
                ("POST", "/v1/apps/shop/topics/news.de/subscribe"), ("POST", "/v1/apps/shop/rules/apply"),
            ].map { Request(ground.ask($0.0, $0.1, token: token, body: $0.0 == "POST" ? "{}" : nil), 403) }
        },
        Attack("a phone names another user in the path, the query or the body", "403") { ground in
            let token = ground.shop.token("ann")
            let device = #"{"provider": "fcm", "token": "t", "user_id": "bob"}"#
            return [
                Request(ground.ask("GET", "/v1/apps/shop/users/bob/preferences", token: token), 403),
                Request(ground.ask("GET", "/v1/apps/shop/devices?user_id=bob", token: token), 403),
                Request(ground.ask("GET", "/v1/apps/shop/devices?user_id=ann&user_id=bob", token: token), 403),
                Request(ground.ask("PUT", "/v1/apps/shop/devices", token: token, body: device), 403),
                Request(
                    ground.ask("POST", "/v1/apps/shop/users/%61nn%2F..%2Fbob/snooze", token: token, body: "{}"),
                    403
                ),
            ]
        },
        Attack(
            "a phone registers a webhook, sets attributes, or subscribes to a topic that is not for phones",
            "403"
        ) { ground in
            let token = ground.shop.token("ann")
            let hook = #"{"provider": "webhook", "token": "https://10.0.0.1/"}"#
            let gold = #"{"provider": "fcm", "token": "t", "attributes": {"tier": "gold"}}"#
            return [hook, gold].map {
                Request(ground.ask("PUT", "/v1/apps/shop/devices", token: token, body: $0), 403)
            } + [Request(ground.ask("PUT", "/v1/apps/shop/devices/1/topics/staff", token: token, body: "{}"), 403)]
        },
    ]
}
