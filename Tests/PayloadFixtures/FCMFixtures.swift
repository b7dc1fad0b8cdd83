/// Requests as applications send them to FCM v1; each must come through unchanged.
public enum FCMFixtures {
    /// Names and JSON texts.
    public static let requests: [(name: String, text: String)] = [
        (
            "background-high-priority",
            #"""
            {
              "message": {
                "token": "bk3RNwTe3H0:CI2k_HHwgIpoDKCIZvvDMExUdFQ3P1...",
                "data": {
                  "key1": "some_value",
                  "key2": "another_value",
                  "key3": "one_more"
                },
                "android": {
                  "priority": "HIGH"
                },
                "apns": {
                  "headers": {
                    "apns-priority": "5",
                    "apns-push-type": "background"
                  },
                  "payload": {
                    "aps": {
                      "content-available": 1
                    }
                  }
                }
              }
            }
            """#
        ),
        (
            "condition",
            #"""
            {
              "message": {
                "condition": "'dogs' in topics || ('cats' in topics && 'pizza' in topics)",
                "notification": {
                  "title": "Sparky says hello!"
                }
              }
            }
            """#
        ),
        (
            "data-only",
            #"""
            {
              "message": {
                "token": "bk3RNwTe3H0:CI2k_HHwgIpoDKCIZvvDMExUdFQ3P1...",
                "data": {
                  "title": "Argentina vs. Brasil",
                  "body": "Great match!"
                }
              }
            }
            """#
        ),
        (
            "notification-and-data",
            #"""
            {
              "message": {
                "token": "bk3RNwTe3H0:CI2k_HHwgIpoDKCIZvvDMExUdFQ3P1...",
                "notification": {
                  "title": "Argentina vs. Brasil",
                  "body": "Great match!"
                },
                "data": {
                  "Nick": "Mario",
                  "Room": "ArgentinaVSBrasil"
                }
              }
            }
            """#
        ),
        (
            "notification-only",
            #"""
            {
              "message": {
                "token": "bk3RNwTe3H0:CI2k_HHwgIpoDKCIZvvDMExUdFQ3P1...",
                "notification": {
                  "title": "Argentina vs. Brasil",
                  "body": "Great match!"
                }
              }
            }
            """#
        ),
        (
            "provider-overrides-topic",
            #"""
            {
              "message": {
                "topic": "news",
                "notification": {
                  "title": "Sparky says hello!"
                },
                "android": {
                  "notification": {
                    "image": "https://example.com/pizza.png"
                  }
                },
                "apns": {
                  "payload": {
                    "aps": {
                      "mutable-content": 1
                    }
                  },
                  "fcm_options": {
                    "image": "https://example.com/pizza.png"
                  }
                },
                "webpush": {
                  "headers": {
                    "image": "https://example.com/pizza.png"
                  }
                }
              }
            }
            """#
        ),
        (
            "topic",
            #"""
            {
              "message": {
                "topic": "all-team",
                "notification": {
                  "title": "Sparky says hello!"
                }
              }
            }
            """#
        ),
        (
            "urgent-alert-with-data",
            #"""
            {
              "message": {
                "token": "bk3RNwTe3H0:CI2k_HHwgIpoDKCIZvvDMExUdFQ3P1...",
                "notification": {
                  "title": "Urgent action needed!",
                  "body": "Urgent action is needed to prevent your account from being disabled!"
                },
                "data": {
                  "key1": "some_value",
                  "key2": "another_value",
                  "key3": "one_more"
                }
              }
            }
            """#
        ),
    ]
}
