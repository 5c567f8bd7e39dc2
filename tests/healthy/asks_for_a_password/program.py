"""getpass asks at the terminal; where the terminal is stdin alone it reads that."""
import sys

PERSON = ("ready", 2, "hush\n")
CUDA = "it has no torch"
QUICK = True


def command(bench):
    return [sys.executable, bench.script("""
import getpass, warnings
warnings.simplefilter("ignore")
print("ready", flush=True)
print("got", getpass.getpass("password? "))
""")]
