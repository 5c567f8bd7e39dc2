"""An evaluation harness: rank 0 starts a server, asks it over HTTP every half second until its model is loaded, and sends it its work."""
from workbench import free_port

SERVER = """
import http.server, sys, time
end = time.monotonic() + 10
while time.monotonic() < end: sum(range(10000))  # it loads
class Model(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"an answer")
    def log_message(self, *words): pass
server = http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Model)
server.serve_forever()
"""


def command(bench):
    bench.script(SERVER, "serve.py")
    return bench.train("""
import subprocess, urllib.error, urllib.request
def ask(port):
    try:
        return urllib.request.urlopen(f"http://127.0.0.1:{port}/").read().decode()
    except urllib.error.URLError:
        return None
if RANK == 0:
    late(0)
    port = %d
    server = subprocess.Popen([sys.executable, "serve.py", str(port)])
    while ask(port) is None: time.sleep(0.5)
    for _ in range(20): answer = ask(port)
    server.terminate()
    server.wait()
    say(answer)
""" % free_port())
