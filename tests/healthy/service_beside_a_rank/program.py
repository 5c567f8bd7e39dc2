"""A logging service as wandb's: rank 1 starts it as a daemon; it inherits RANK, loads torch, and idles until rank 1 has something to log."""

SERVICE = """
import os, socket, torch
server = socket.create_server(("127.0.0.1", 0))
with open("port.new", "w") as file: file.write(str(server.getsockname()[1]))
os.rename("port.new", "port")
lines = 0
with server.accept()[0].makefile() as client:
    for line in client: lines += 1
with open("logged.new", "w") as file: file.write(str(lines))
os.rename("logged.new", "logged")
"""


def command(bench):
    bench.script(SERVICE, "service.py")
    return bench.train("""
import socket, subprocess
if RANK == 1:
    if os.fork() == 0:
        os.setsid()
        subprocess.Popen([sys.executable, "service.py"])
        os._exit(0)
    os.wait()
    while not os.path.exists("port"): time.sleep(0.05)
    service = socket.create_connection(("127.0.0.1", int(open("port").read())))
    service.sendall(b"loss 3\\n")
    late()
    service.sendall(b"loss 2\\n")
    service.close()
    while not os.path.exists("logged"): time.sleep(0.05)
    say(f"{open('logged').read()} lines logged")
""")
