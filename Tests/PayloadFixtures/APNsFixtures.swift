/// Payloads as applications send them to APNs; each must pass through unchanged.
public enum APNsFixtures {
    /// Names and JSON texts.
    public static let payloads: [(name: String, text: String)] = [
        (
            "action-loc-key",
            #"""
            {
              "aps": {
                "alert": {
                  "body": "Acme message received from Johnny Appleseed",
                  "action-loc-key": "VIEW",
                  "actions": [
                    {
                      "id": "delete",
                      "title": "Delete"
                    },
                    {
                      "id": "reply-to",
                      "loc-key": "REPLYTO",
                      "loc-args": [
                        "Jane"
                      ]
                    }
                  ]
                },
                "badge": 3,
                "sound": "chime.aiff"
              },
              "acme-account": "jane.appleseed@apple.com",
              "acme-message": "message123456"
            }
            """#
        ),
        (
            "alert-string-custom-keys",
            #"""
            {
              "aps": {
                "alert": "You got your emails.",
                "badge": 9,
                "sound": "bingbong.aiff"
              },
              "acme1": "bar",
              "acme2": 42
            }
            """#
        ),
        (
            "alert-title-subtitle-body",
            #"""
            {
              "aps": {
                "alert": {
                  "title": "Introducción a las notificaciones",
                  "subtitle": "Sesión 707",
                  "body": "La nueva API de notificaciones es genial!!!"
                },
                "badge": 1
              }
            }
            """#
        ),
        (
            "background",
            #"""
            {
              "aps": {
                "content-available": 1
              },
              "acme1": "bar",
              "acme2": 42
            }
            """#
        ),
        (
            "badge-sound-only",
            #"""
            {
              "aps": {
                "badge": 9,
                "sound": "bingbong.aiff"
              },
              "messageID": "ABCDEFGHIJ"
            }
            """#
        ),
        (
            "category-custom",
            #"""
            {
              "aps": {
                "alert": {
                  "title": "Game Request",
                  "subtitle": "Five Card Draw",
                  "body": "Bob wants to play poker"
                },
                "category": "GAME_INVITATION"
              },
              "gameID": "12345678"
            }
            """#
        ),
        (
            "category",
            #"""
            {
              "aps": {
                "alert": "Hello world!",
                "category": "message"
              }
            }
            """#
        ),
        (
            "critical-sound",
            #"""
            {
              "aps": {
                "alert": {
                  "title": "WARNING",
                  "body": "Storm alert"
                },
                "category": "storm-alert",
                "interruption-level": "critical",
                "sound": {
                  "critical": 1,
                  "name": "default",
                  "volume": 1.0
                }
              }
            }
            """#
        ),
        (
            "loc-key-args",
            #"""
            {
              "aps": {
                "alert": {
                  "loc-key": "GAME_PLAY_REQUEST_FORMAT",
                  "loc-args": [
                    "Jenna",
                    "Frank"
                  ]
                },
                "sound": "chime.aiff"
              },
              "acme": "foo"
            }
            """#
        ),
        (
            "mutable-encrypted",
            #"""
            {
              "aps": {
                "alert": "New Message Available",
                "mutable-content": 1
              },
              "encrypted-content": "#theencryptedcontent"
            }
            """#
        ),
        (
            "rich-media",
            #"""
            {
              "aps": {
                "alert": {
                  "title": "Image Notification",
                  "body": "Show me an image from web!"
                },
                "mutable-content": 1,
                "category": "sticker"
              },
              "icon": "https://example.com/icon.gif",
              "image": "https://example.com/image.gif",
              "audio": "https://example.com/clip.mp3",
              "clickURL": "https://example.com/deal"
            }
            """#
        ),
        (
            "thread-grouping",
            #"""
            {
              "aps": {
                "alert": {
                  "title": "Cat Title",
                  "subtitle": "Cat Subtitle",
                  "body": "Cat Body",
                  "summary-arg": "Cats",
                  "summary-arg-count": 1
                },
                "category": "category-simple",
                "thread-id": "cats",
                "sound": "default"
              }
            }
            """#
        ),
        (
            "title-loc-key",
            #"""
            {
              "aps": {
                "badge": 1,
                "alert": {
                  "loc-key": "localized-body-key",
                  "title-loc-key": "localized-title-key"
                }
              }
            }
            """#
        ),
    ]
}
