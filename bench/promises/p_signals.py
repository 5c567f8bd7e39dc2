"""P4 and P6: signals reach the job once each, and the second Ctrl-C ends all of it now."""

import json
import os
import select
import signal
import time

from random_signals import Trial
from promises.scene import INITS, LAUNCHERS, PYTHON
from promises.tries import expect, tries

# What a process cannot be asked for, what stands for its own faults, and what stops it (a promise of its own).
OWN = {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD, signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGTRAP,
       signal.SIGSYS, signal.SIGABRT, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
HANDED_ON = sorted(set(signal.valid_signals()) - OWN)
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
# USR2 is kept for the end: it comes when the others have come.
LISTENS = """
import os, signal
every = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}
signal.pthread_sigmask(signal.SIG_BLOCK, every)
open("ready-0", "w").close()
while (one := signal.sigwait(every)) != signal.SIGUSR2:
    os.write(1, b"%d\\n" % one)
"""
STUBBORN = """
import os, signal, time
for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP): signal.signal(one, signal.SIG_IGN)
open("ready-" + os.environ.get("RANK", "0"), "w").close()
time.sleep(600)
"""
TICKS = "import time\nwhile True:\n    open('ticks', 'a').write('.')\n    open('ready-0', 'w').close()\n    time.sleep(0.005)"
MASKS = "print([line for line in open('/proc/self/status') if line.startswith(('SigBlk', 'SigIgn'))])"


def _heard(scene, numbers):
    """What the job has heard of the signals that were sent in that order."""
    process = scene.start([*PYTHON, LISTENS])
    scene.ready()
    for one in numbers:
        os.kill(process.pid, one)
    # Handed on in the order of their numbers: what waits with USR2 comes before or after it.
    heard = b""
    while heard.count(b"\n") < len(numbers):
        told = select.select([process.stdout], [], [], 10)[0]
        piece = os.read(process.stdout.fileno(), 4096) if told else b""
        expect(piece, f"of {sorted(numbers)} the job has heard {sorted(map(int, heard.split()))}")
        heard += piece
    os.kill(process.pid, signal.SIGUSR2)
    status, rest, _ = scene.finish(process)
    expect(status == 0, f"the status is {status}")
    return sorted(map(int, (heard + rest).split()))


@tries("P4", f"each of {len(HANDED_ON)} signals reaches the job, once", len(HANDED_ON), len(HANDED_ON), peers=INITS)
def each_signal(scene, number, _):
    wanted = [HANDED_ON[number]] if HANDED_ON[number] != signal.SIGUSR2 else []
    expect(_heard(scene, wanted) == wanted, f"signal {HANDED_ON[number]} came more than once")


@tries("P4", "bursts of different signals at one moment: each comes once", 20, 1000, peers=INITS)
def bursts(scene, _, dice):
    burst = dice.sample([one for one in HANDED_ON if one not in (signal.SIGUSR2, *ENDING)], dice.randint(2, 12))
    burst.append(dice.choice(ENDING))  # safelaunch passes on the first of these, and kills at a second INT or TERM
    heard = _heard(scene, burst)
    expect(heard == sorted(burst), f"{sorted(burst)} were sent, {heard} came")


@tries("P4", "the job has the signal mask and the ignored signals of the shell", 12, peers=(*INITS, *LAUNCHERS))
def masks(scene, _, dice):
    blocked = dice.sample(HANDED_ON, dice.randint(0, 6))
    ignored = dice.sample([one for one in HANDED_ON if one < 32], dice.randint(0, 4))

    def prepare():
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        for one in ignored:
            signal.signal(one, signal.SIG_IGN)

    out = scene.run([*PYTHON, MASKS], preexec_fn=prepare)[1]
    wanted = [sum(1 << one - 1 for one in set(numbers)) for numbers in (blocked, [*ignored, signal.SIGPIPE, signal.SIGXFSZ])]
    found = [int(line.split("\t")[1], 16) for line in json.loads(out.decode().strip().replace("'", '"'))]
    expect(found == wanted, f"{found} in place of {wanted}")


@tries("P4", "Ctrl-Z stops the job and its launcher; `fg` goes on with both", 6, peers=INITS)
def stop_and_go_on(scene, number, _):
    process = scene.start([*PYTHON, TICKS], start_new_session=False, process_group=0)
    scene.ready()
    os.kill(process.pid, (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)[number % 3])
    scene.until(lambda: os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT), "the launcher stops", 10)
    ticks = scene.work / "ticks"
    stood = ticks.stat().st_size
    time.sleep(0.1)
    expect(ticks.stat().st_size == stood, "the job goes on")
    os.kill(process.pid, signal.SIGCONT)
    scene.until(lambda: ticks.stat().st_size > stood, "the job goes on after CONT", 10)


@tries("P4", "random signals at random moments, to the process or its group, half of them at a terminal", 40, 2000)
def random_moments(scene, number, _):
    trial = Trial(28, number, light=True)
    wrong = trial.run(str(scene.folder), bare=False)
    expect(not wrong, f"{trial}: {'; '.join(wrong)}")


@tries("P6", "Ctrl-C twice at ranks that ignore it: all are gone within 250 ms of the second", 20, 1000, unit="ms", peers=LAUNCHERS)
def twice(scene, _, dice):
    terminal = scene.terminal([*PYTHON, STUBBORN], ranks=2)
    scene.ready(2)
    terminal.press_ctrl_c()
    if scene.launcher.name == "safelaunch":  # two signals of one kind that wait at the same time are one
        scene.until(lambda: any('"signal"' in path.read_text() for path in scene.records("events.jsonl")), "the first is heard")
    time.sleep(dice.uniform(0, 0.5))
    began = time.monotonic()
    terminal.press_ctrl_c()
    for _ in range(dice.randint(0, 8)):
        time.sleep(dice.uniform(0, 0.02))
        terminal.press_ctrl_c()
    scene.until(lambda: not _read_and_look(scene, terminal), "the end", 10)
    milliseconds = 1e3 * (time.monotonic() - began)
    expect(milliseconds <= 250, f"{milliseconds:.0f} ms")
    if scene.launcher.name == "safelaunch":
        expect(terminal.close(10) == 130, "the status is not 130")
    return milliseconds


def _read_and_look(scene, terminal):
    terminal.read(0.001)
    return scene.left()
