"""torchrun starts its ranks anew: after exit status 3, after SIGSEGV, and then all is well."""

LINES = "^rank |^trained"  # at a terminal a crash tells its place as well, since faulthandler is on


def command(bench):
    return bench.train("""
attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
if RANK == 0 and attempt == 0: sys.exit(3)
if RANK == 0 and attempt == 1: os.kill(os.getpid(), 11)
""", options=["--max-restarts=2"])
