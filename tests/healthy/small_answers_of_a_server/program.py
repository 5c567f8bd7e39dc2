"""Rank 0 asks a server for one small thing after the other, 40 ms each and hardly any bytes, for longer than the deadlines."""


def make(bench):
    bench.python("""
import http.server, os, time
class Answers(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_HEAD(self):
        time.sleep(0.04)
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()
    def log_message(self, *arguments): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
with open("port", "w") as file: file.write(str(server.server_port))
print("there", flush=True)
server.serve_forever()
""", cwd=bench.folder)


def command(bench):
    return bench.train("""
if RANK == 0:
    import http.client
    server = http.client.HTTPConnection("127.0.0.1", int(open("port").read()))
    while not os.path.exists("waits1"): time.sleep(0.05)
    for i in range(300):
        server.request("HEAD", f"/{i}")
        server.getresponse().read()
    say("300 heads")
""")
