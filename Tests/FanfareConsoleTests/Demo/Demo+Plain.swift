@testable import FanfareConsole
@testable import FanfareConsoleView

extension Demo {
    static let confirm = ConfirmPage(
        frame: frame(
            "Restore 1,401 devices of shop?",
            "Devices",
            parent: PageLink(name: "Devices", href: "/devices?app=shop&reason=BadDeviceToken")
        ),
        words:
            "They were disabled with BadDeviceToken since 26 November 12:00 UTC. The next push goes to them again; who is gone will be disabled again.",
        count: "1,401",
        counted: "devices",
        warning: nil,
        facts: [
            Fact(name: "App", words: "shop"), Fact(name: "Reason", words: "BadDeviceToken"),
            Fact(name: "Since", time: ago(7_402, .short)),
        ],
        samples: SampleTable(
            heads: ["Device", "User", "Disabled"],
            rows: (0..<4).map {
                SampleLine(cells: ["\(9_120_044 + $0 * 7)", "customer-\(4_410 + $0)", "26 Nov 12:0\($0) UTC"])
            }
        ),
        action: "/devices/restore",
        kept: [HiddenField(name: "app", value: "shop"), HiddenField(name: "expected", value: "1401")],
        seal: "sealed",
        verb: "Restore 1,401 devices",
        isDangerous: false,
        isImpossible: false,
        cancel: "/devices?app=shop&reason=BadDeviceToken"
    )

    static let confirmAbort = ConfirmPage(
        frame: frame(
            "Abort black-friday-early?",
            "Campaigns",
            parent: PageLink(name: "black-friday-early", href: "/campaigns/shop/black-friday-early")
        ),
        words: "391,678 pushes are not sent yet, and will not be. 812,440 are out.",
        count: "391,678",
        counted: "pushes are never sent",
        warning: "An aborted run cannot go on. Pause it if you only want time to think.",
        facts: [],
        samples: nil,
        action: "/campaigns/shop/black-friday-early/abort",
        kept: [],
        seal: "sealed",
        verb: "Abort for 391,678",
        isDangerous: true,
        isImpossible: false,
        cancel: "/campaigns/shop/black-friday-early"
    )

    static let login = LoginPage(
        frame: frame("Log in", "", isLoggedIn: false),
        action: "/login",
        back: "/events?type=order.shipped",
        problem: "Invalid or expired token.",
        command: "fanfare tokens create --name console --scope operate"
    )

    static let error = ErrorPage(
        frame: frame("Not now", ""),
        status: "503",
        heading: "The database does not answer",
        words:
            "connection to server at \"db.example.com\" failed: Connection refused. What daemons hold goes on being sent; nothing new is planned.",
        steps: [
            HealthStep(words: "See whether PostgreSQL runs:", command: "systemctl status postgresql"),
            HealthStep(words: "Then what Fanfare says of it:", command: "fanfare check"),
        ],
        requestID: "01J9ZC7Q3",
        again: "/"
    )

    static let find = FindPage(
        frame: frame("Find", ""),
        candidates: [
            FindCandidate(name: "Event 48211901", words: "order.shipped, planned", href: "/events/48211901"),
            FindCandidate(name: "User 48211901", words: "2 devices, shop", href: "/people?user=48211901"),
        ],
        empty: nil
    )

    static let findNothing = FindPage(
        frame: frame("Find", ""),
        candidates: [],
        empty: Empty(title: "No results", words: "No event id or user matches.", command: nil)
    )
}
