"""Rank 0 asks a server that is not up yet, again and again, with longer and longer sleeps in between."""
from workbench import free_port

OPTIONS = ["--init-timeout", "40s"]


def make(bench):
    bench.env["SERVER"] = str(free_port())
    bench.python(f"""
import socket, time
print("there", flush=True)
time.sleep(14)
socket.create_server(("127.0.0.1", {bench.env["SERVER"]})).accept()
""")


def command(bench):
    return bench.train("""
import socket
pause = 0.5
while RANK == 0:
    try:
        socket.create_connection(("127.0.0.1", int(os.environ["SERVER"]))).close()
        say("connected")
        break
    except ConnectionRefusedError:
        time.sleep(pause)
        pause = min(4, pause * 1.5)
""")
