"""Programs that speak of 401 and are healthy: nobody may restart them.

server: rejects its own clients, and logs it as web servers do.
client: is rejected by another service, for ever.
"""

import datetime
import http.server
import logging
import sys
import threading
import time
import urllib.error
import urllib.request

logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.INFO)


class Rejecting(http.server.BaseHTTPRequestHandler):
    """Answers 401 to whoever asks."""

    def do_GET(self):
        body = b'{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}'
        self.send_response(401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *args):
        stamp = datetime.datetime.now().strftime("%d/%b/%Y:%H:%M:%S +0000")
        print(f'{self.client_address[0]} - - [{stamp}] "GET {self.path} HTTP/1.1" 401 71 "-" "probe/1.0"', flush=True)
        if log_rejections:
            logging.error('Unable to authenticate the request err="[invalid bearer token, token lookup failed]"')


role = sys.argv[1]
log_rejections = role == "server"
server = http.server.ThreadingHTTPServer(("127.0.0.1", 8080), Rejecting)
threading.Thread(target=server.serve_forever, daemon=True).start()

while True:
    try:
        urllib.request.urlopen("http://127.0.0.1:8080/v2/team/app/manifests/latest", timeout=5)
    except urllib.error.HTTPError as error:
        if role == "client":
            logging.error("pull of registry.example/team/app:latest failed: %s from registry.example: Unauthorized", error)
    time.sleep(3)
