"""Signals are blocked, and a thread waits for them."""


def command(bench):
    return bench.train("""
import signal, threading
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP})
got = []
def listen(): got.append(signal.sigwait({signal.SIGUSR1}))
thread = threading.Thread(target=listen)
thread.start()
if RANK == 1: late()
os.kill(os.getpid(), signal.SIGUSR1)
thread.join()
say(f"rank {RANK} got {got[0].name}")
""")
