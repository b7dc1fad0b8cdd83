import PushTransport
import Testing

/// The allowed names and addresses, without network access.
struct DestinationPolicyTests {
    /// The first and last addresses of the special blocks, and notations that obscure them.
    @Test(arguments: [
        "0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255", "127.0.0.1",
        "127.255.255.255", "169.254.0.0", "169.254.169.254", "169.254.255.255", "172.16.0.0", "172.31.255.255",
        "192.0.0.0", "192.0.0.9", "192.0.0.255", "192.0.2.1", "192.31.196.1", "192.52.193.1", "192.88.99.1",
        "192.168.0.0", "192.168.255.255", "192.175.48.1", "198.18.0.0", "198.19.255.255", "198.51.100.1", "203.0.113.1",
        "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
        "::", "::1", "::127.0.0.1", "::2", "::ffff:10.0.0.1", "::ffff:7f00:1", "0:0:0:0:0:ffff:a9fe:a9fe",
        "::ffff:0:10.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::169.254.169.254", "64:ff9b:1::1",
        "64:ff9b:1:ffff::8.8.8.8", "100::1", "100:0:0:1::1", "2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2",
        "2001:2::1", "2001:10::1", "2001:20::1", "2001:1ff:ffff::1", "2001:db8::1", "2002:7f00:1::", "2002:808:808::",
        "2620:4f:8000::1", "3fff::1", "3fff:fff:ffff::1", "5f00::1", "4000::1", "fc00::1", "fd12:3456:789a::1",
        "fdff:ffff::1", "fe80::1", "febf::1", "fec0::1", "ff02::1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    ])
    func specialAddressesAreNotPublic(_ text: String) throws {
        let address = try #require(IPAddress(text))
        #expect(!address.isPublic)
        #expect(IPAddress(address.description) == address)
    }

    @Test(arguments: [
        "1.0.0.0", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
        "128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.0.3.0",
        "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255", "17.188.143.1",
        "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2001:200::1", "2001:4860:4860::8888", "2000::1", "2003::1",
        "2620:149:a44::1", "2a00:1450::1", "3ffe:ffff::1", "3fff:1000::1",
    ])
    func ordinaryAddressesArePublic(_ text: String) throws {
        #expect(try #require(IPAddress(text)).isPublic)
    }

    @Test(arguments: [
        "", "1", "1.2.3", "1.2.3.4.5", "1.2.3.256", "01.2.3.4", "1.2.3.4 ", "+1.2.3.4", "0x7f.0.0.1", "2130706433",
        ":", ":::", "1::2::3", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7::8", "12345::", "g::", "::1.2.3",
        "1.2.3.4::", "::1%eth0", "[::1]", "1:2:3:4:5:6:7:1.2.3.4", "-1::",
    ])
    func otherTextIsNoAddress(_ text: String) {
        #expect(IPAddress(text) == nil)
    }

    @Test(arguments: [
        ("10.1.2.3", "10.1.2.3"), ("::ffff:10.1.2.3", "10.1.2.3"), ("::FFFF:0a01:0203", "10.1.2.3"), ("::", "::"),
        ("0:0:0:0:0:0:0:1", "::1"), ("2001:DB8:0:0:1:0:0:1", "2001:db8::1:0:0:1"),
        ("1:0:2:3:4:5:6:7", "1:0:2:3:4:5:6:7"),
        ("fe80:0:0:0:0:0:0:0", "fe80::"), ("64:ff9b::1.2.3.4", "64:ff9b::102:304"),
    ])
    func addressesAreWrittenAsRFC5952Wants(_ text: String, _ canonical: String) throws {
        #expect(try #require(IPAddress(text)).description == canonical)
    }

    @Test(arguments: [
        ("127.0.0.1/32", "127.0.0.1", true), ("127.0.0.1/32", "127.0.0.2", false), ("127.0.0.1", "127.0.0.1", true),
        ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.1", false), ("10.0.0.0/8", "::ffff:10.0.0.1", true),
        ("::ffff:10.0.0.0/104", "10.3.0.1", true), ("0.0.0.0/0", "10.0.0.1", true), ("0.0.0.0/0", "fd00::1", false),
        ("::/0", "fd00::1", true), ("::/0", "10.0.0.1", false), ("fd00::/8", "fdff::1", true),
        ("fd00::/8", "fe80::1", false), ("::1/128", "::1", true), ("::1/128", "::2", false),
    ])
    func networksHoldTheirAddresses(_ network: String, _ address: String, _ holds: Bool) throws {
        let (network, address) = try (#require(IPNetwork(network)), #require(IPAddress(address)))
        #expect(network.contains(address) == holds)
        #expect(IPNetwork(network.description) == network)
    }

    @Test(arguments: [
        "", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.1/8", "fd00::/129", "fd00::1/8",
        "10.0.0.0/8/8", "localhost", "10.0.0.0/255.0.0.0",
    ])
    func otherTextIsNoNetwork(_ text: String) {
        #expect(IPNetwork(text) == nil)
        #expect(throws: DestinationPolicyError.network(text)) { try DestinationPolicy(hosts: [], networks: [text]) }
    }

    /// The push services of the known browsers.
    private static let services = [
        "fcm.googleapis.com", "*.push.services.mozilla.com", "*.push.apple.com", "*.notify.windows.com",
    ]

    @Test(arguments: [
        ("fcm.googleapis.com", true), ("FCM.googleapis.com", true), ("updates.push.services.mozilla.com", true),
        ("web.push.apple.com", true), ("a.b.push.apple.com", true), ("wns2-par02p.notify.windows.com", true),
        ("push.apple.com", false), ("evilpush.apple.com", false), ("push.apple.com.evil.com", false),
        ("googleapis.com", false), ("x.fcm.googleapis.com", false), ("localhost", false), ("127.0.0.1", false),
        ("[::1]", false), ("17.188.143.1", false),
    ])
    func theKnownServicesAreAllowed(_ host: String, _ isAllowed: Bool) throws {
        let policy = try DestinationPolicy(hosts: Self.services)
        #expect(try policy.allows(Endpoint("https://" + host)) == isAllowed)
    }

    @Test func portsAreThoseOfThePattern() throws {
        let (publicAddress, ownAddress) = try (#require(IPAddress("8.8.8.8")), #require(IPAddress("127.0.0.1")))
        let policy = try DestinationPolicy(
            hosts: ["a.example", "b.example:8443", "*.c.example:443"],
            networks: ["127.0.0.1"]
        )
        let cases = [
            ("a.example", publicAddress, true), ("a.example:8443", publicAddress, false),
            ("a.example:8443", ownAddress, true), ("b.example:8443", publicAddress, true),
            ("b.example", publicAddress, false), ("b.example", ownAddress, false), ("x.c.example", publicAddress, true),
            ("x.c.example:444", ownAddress, false), ("d.example", publicAddress, false),
        ]
        for (host, address, isAllowed) in cases {
            #expect(try policy.allows(address, of: Endpoint("https://" + host)) == isAllowed, "\(host) \(address)")
        }
    }

    @Test func oneStarIsEveryHostAndNoPrivateAddress() throws {
        let policy = try DestinationPolicy(hosts: ["*"])
        let origin = try Endpoint("https://push.example.org")
        #expect(policy.allows(origin))
        #expect(try policy.allows(#require(IPAddress("93.184.215.14")), of: origin))
        #expect(try !policy.allows(#require(IPAddress("10.0.0.1")), of: origin))
        #expect(try policy.allows(Endpoint("https://10.0.0.1")), "its address is refused when it connects")
    }

    @Test(arguments: ["", "*.", "a*.example", "*.*.example", "**", "https://a", "a/b", "a:b", "*.10.0.0.1", "a.", "a/"])
    func otherTextIsNoHost(_ text: String) {
        #expect(throws: DestinationPolicyError.host(text)) { try DestinationPolicy(hosts: [text]) }
    }

    @Test(arguments: [
        ("https://push.example.net/wp/abc?x=%20y&z", "https://push.example.net", "/wp/abc?x=%20y&z"),
        ("HTTPS://Push.Example.net:8443", "https://push.example.net:8443", "/"),
        ("https://push.example.net?token=a/b", "https://push.example.net", "/?token=a/b"),
        ("https://[::1]:8443/../a", "https://[::1]:8443", "/../a"),
    ])
    func urlsAreTakenApart(_ text: String, _ origin: String, _ target: String) throws {
        let url = try HTTPSURL(text)
        #expect(url.origin.description == origin)
        #expect(String(decoding: url.target, as: UTF8.self) == target)
    }

    @Test(arguments: [
        ("http://a/marked", EndpointError.Reason.scheme), ("https://", .scheme), ("", .scheme),
        ("https://user:marked@a/", .userInformation), ("https://a/marked#b", .target), ("https://a/ma rked", .target),
        ("https://a/marked\r\nb", .target), ("https://a/markedä", .target), ("https:///marked", .host),
        ("https://a:b/marked", .port), ("https://a\\marked", .host), ("https://a@b/marked", .userInformation),
    ])
    func otherURLsAreRefusedWithoutTheirPath(_ text: String, _ reason: EndpointError.Reason) {
        let error = #expect(throws: EndpointError.self) { try HTTPSURL(text) }
        #expect(error?.reason == reason)
        #expect(reason == .host && text.contains("\\") || error?.description.contains("marked") == false)
    }
}
