"""Receives webhooks over HTTPS, as HTTP/1.1, and checks each with the standard's own library.

usage: receiver.py CERTIFICATE KEY SECRET

Prints its port, then a line of JSON for each request: whether the signature holds, the id, the type and the data. Answers 204 to
what holds, 401 to what does not, and 503 to the first request of each id, so that it comes again.
"""

import http.server
import json
import ssl
import sys

from standardwebhooks import Webhook, WebhookVerificationError

certificate, key, secret = sys.argv[1:]
webhook = Webhook(secret)
seen = set()


class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        told = {"http": self.request_version, "path": self.path, "id": self.headers["webhook-id"]}
        try:
            payload = webhook.verify(body, dict(self.headers))
            told |= {"verified": True, "type": payload["type"], "data": payload["data"]}
        except WebhookVerificationError as error:
            told |= {"verified": False, "why": str(error)}
        status = 401 if not told["verified"] else 204 if told["id"] in seen else 503
        seen.add(told["id"])
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()
        print(json.dumps(told | {"status": status}), flush=True)

    def log_message(self, *arguments):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
server.serve_forever()
