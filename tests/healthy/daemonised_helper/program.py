"""A daemon does the work of rank 0 and answers over a socket pair; the rank only waits for it."""


def command(bench):
    return bench.train("""
import socket
if RANK == 0:
    ours, its = socket.socketpair()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            late()
            its.sendall(b"done")
        os._exit(0)
    os.wait()
    say(ours.recv(4).decode())
""")
