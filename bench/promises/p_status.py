"""P5: the exit status is the job's own."""

import re
import signal

from promises.scene import INITS, LAUNCHERS, PYTHON
from promises.tries import expect, tries

PEERS = (*INITS, *LAUNCHERS)
DEADLY = sorted(set(range(1, 65)) - {32, 33} - {int(one) for one in (
    signal.SIGCHLD, signal.SIGCONT, signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU, signal.SIGURG, signal.SIGWINCH)})
DIES = """
import os, resource, signal, sys
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
number = int(sys.argv[1])
if number not in (9, 19): signal.signal(number, signal.SIG_DFL)
os.kill(os.getpid(), number)
"""
RANKS = 4
NAMED = rb"[Rr]ank %d failed first \(exit status %d\)|Process name: \[\[\d+,\d+\],%d\]\s+Exit code:\s+%d"  # ours, mpirun's
FAILS = "if [ $RANK = $1 ]; then exit $2; fi; exec sleep 600"


def _expect_status(scene, words, wanted):
    status = scene.run(words)[0]
    expect(status == wanted, f"the status {status} came for {wanted}")


@tries("P5", "each exit status from 0 to 255", 256, 256, peers=PEERS)
def each_status(scene, number, _):
    _expect_status(scene, ["sh", "-c", f"exit {number}"], number)


@tries("P5", "death by each signal is told as 128+N", len(DEADLY), len(DEADLY), peers=PEERS)
def each_death(scene, number, _):
    _expect_status(scene, [*PYTHON, DIES, DEADLY[number]], 128 + DEADLY[number])


@tries("P5", "a command that is not there (127) or no program (126)", 2, 2, peers=PEERS)
def no_command(scene, number, _):
    (scene.work / "plain").write_text("no program")
    _expect_status(scene, [("there-is-no-such-command", "./plain")[number]], (127, 126)[number])


@tries("P5", f"the first of {RANKS} ranks to fail decides the status, and is named", 16, peers=LAUNCHERS)
def first_to_fail(scene, number, dice):
    rank, wanted = number % RANKS, dice.randint(2, 255)
    status, _, told = scene.run(["sh", "-c", FAILS, "job", rank, wanted], ranks=RANKS)
    expect(status == wanted, f"rank {rank} ended with {wanted}, the whole with {status}")
    expect(re.search(NAMED % (rank, wanted, rank, wanted), told), f"rank {rank} is not named")
