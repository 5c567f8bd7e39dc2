"""The script sets a default timeout for all sockets, and replaces what others call."""


def command(bench):
    return bench.train("""
import builtins, socket
socket.setdefaulttimeout(0.2)
real_sleep, real_open = time.sleep, builtins.open
time.sleep = lambda seconds: real_sleep(min(seconds, 0.01))
builtins.open = lambda *arguments, **named: real_open(*arguments, **named)
if RANK == 1: late()
""")
