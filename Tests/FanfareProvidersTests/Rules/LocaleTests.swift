import FanfareCore
import Testing

@testable import FanfareProviders

/// The locale that a phone sends selects the message in its language.
struct LocaleTests {
    private func tag(_ locale: String, _ tags: [String]) throws -> String? {
        var locales = JSONObject()
        for tag in tags { locales[tag] = [:] }
        return try CompiledRule(json: rule(["locales": .object(locales)])).matchedLocale(for: locale)
    }

    @Test(
        arguments: [
            ("zh_TW", "zh-Hant"), ("zh-HK", "zh-Hant"), ("zh-MO", "zh-Hant"), ("zh-Hant-TW", "zh-Hant"),
            ("zh_CN_#Hans", "zh-Hans"), ("zh_TW_#Hant", "zh-Hant"), ("zh__#Hant", "zh-Hant"), ("zh-CN", "zh-Hans"),
            ("zh_SG", "zh-Hans"), ("zh", "zh-Hans"), ("zh-Hans-HK", "zh-Hans"), ("zh-Hant-CN", "zh-Hant"),
            ("zh-cmn-Hans-CN", "zh-Hans"), ("yue-HK", "zh-Hant"), ("zh-yue", "zh-Hant"), ("ZH_tw.UTF-8", "zh-Hant"),
            ("zh-CN-u-nu-hanidec", "zh-Hans"), ("sr-RS", "sr"), ("sr-Latn-RS", "sr-Latn"), ("sh", "sr-Latn"),
            ("sr-ME", "sr-Latn"), ("sr-Cyrl", "sr"), ("iw", "he"), ("iw_IL", "he"), ("in_ID", "id"), ("in", "id"),
            ("ji", "yi"), ("no", "nb"), ("nb-NO", "nb"), ("no_NO", "nb"), ("nn-NO", "nb"), ("tl-PH", "fil"),
            ("mo", "ro"), ("en-Latn-US", "en"), ("ja_JP_#Jpan", "ja"), ("pt_AO", "pt-PT"), ("pt-BR", "pt"),
            ("es-MX", "es-419"), ("es-ES", "es"), ("en-AU", "en-001"), ("fr", nil), ("und", nil), ("", nil), ("-", nil),
            ("#", nil), ("zh-", "zh-Hans"),
        ] as [(String, String?)]
    )
    func aliases(locale: String, expected: String?) throws {
        let tags = [
            "zh-Hant", "zh-Hans", "sr", "sr-Latn", "he", "id", "yi", "nb", "fil", "ro", "en", "en-001", "ja", "pt",
            "pt-PT", "es", "es-419",
        ]
        #expect(try tag(locale, tags) == expected)
    }

    @Test(
        arguments: [
            ("he-IL", ["iw"], "iw"), ("nb", ["no"], "no"), ("zh-TW", ["zh-TW", "zh-CN"], "zh-TW"),
            ("zh-Hant-TW", ["zh-TW", "zh-CN"], "zh-TW"), ("zh-Hans-CN", ["zh-TW", "zh-CN"], "zh-CN"),
            ("zh-MO", ["zh-HK", "zh-TW"], "zh-HK"), ("zh-TW", ["zh"], "zh"), ("zh-TW", ["zh", "zh-Hant"], "zh-Hant"),
            ("zh-CN", ["zh-Hant"], nil), ("zh", ["zh-Hant"], nil), ("pa-PK", ["pa"], "pa"),
            ("uz-Cyrl", ["uz-Latn"], nil),
            ("az-Cyrl-AZ", ["az", "az-Cyrl"], "az-Cyrl"), ("de-AT", ["de"], "de"),
            ("de-AT-1996", ["de-AT", "de"], "de-AT"),
        ] as [(String, [String], String?)]
    )
    func scripts(locale: String, tags: [String], expected: String?) throws {
        #expect(try tag(locale, tags) == expected)
    }
}
