"""Runs one command at a pseudo-terminal of its own, as a person would, and tells what stays on its screen."""

import os
import re
import signal
import subprocess
import sys
import termios
import time

import running  # finds the folder of terminal.py
from terminal import Terminal

ERASED = "\r\x1b[K"  # so whoever draws a line for the moment takes it away
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
OURS = re.compile(r"safelaunch: |safelaunch \d")
# What a launcher says of the hour and its own processes is another thing at each start; a bar tells how quick it was.
OF_THE_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[ T_]\d\d:\d\d:\d\d([.,]\d+)?|[IWE]\d{4} \d\d:\d\d:\d\d(\.\d+)?( +\d+)?"
                           r"|\b\d{4,}\b|0x[0-9a-f]+|\d+\.\d+ ?s\b")
BAR = re.compile(r"\d+%\|.*\|")
TORCHS_LOG = re.compile(r"^\[[IWE]\d{4} .*\.cpp:\d+\]")  # of sockets, ports and how long something took
IMPORT_TIME = re.compile(r"^import time: ")  # python -X importtime

# A shell tells of a command that a signal has ended. safelaunch ends with 128+N instead, as its README says, so there it is silent.
BY_A_SIGNAL = r"(Terminated|Killed|Aborted|Segmentation fault|Hangup|Interrupt)"
DEATH = re.compile(rf"^\S+: line [\d#]+: +[\d#]+ {BY_A_SIGNAL}\b|^{BY_A_SIGNAL}( \(core dumped\))?$")


class Typist:
    """Types an answer some seconds after the screen has shown the words that ask for it."""

    def __init__(self, asks, seconds, answer):
        self.asks, self.seconds, self.answer, self.asked = asks.encode(), seconds, answer.encode(), None

    def look(self, terminal):
        if self.asked is None and self.asks in terminal.output:
            self.asked = time.monotonic()
        if self.asked is not None and self.answer and time.monotonic() - self.asked > self.seconds:
            terminal.type(self.answer)
            self.answer = b""


def stays(output):
    """The lines of the screen: the job's, and those of safelaunch, which stand for themselves. Of a bar its last state counts."""
    job, ours = [], []
    for line in output.decode(errors="replace").replace("\r\n", "\n").split("\n"):
        line = line.rsplit(ERASED, 1)[-1]
        if OURS.match(COLOUR.sub("", line)):
            ours.append(COLOUR.sub("", line))
        elif not any(pattern.search(line) for pattern in (BAR, DEATH, TORCHS_LOG, IMPORT_TIME)):
            job.append(OF_THE_MOMENT.sub("#", line))
    return job, ours


def run_command(words, bench, person, given_up_after):
    """As running.run_command: status, what stays on the screen ("out" the job's, "err" ours), time, and the terminal's modes."""
    began = time.monotonic()
    terminal = Terminal(words, env={**bench.env, "TERM": "xterm"}, cwd=bench.folder)
    typist = Typist(*person) if person else None
    status = "silent"
    while status == "silent" and time.monotonic() - began < given_up_after:
        if not terminal.read(0.05) and terminal.process.poll() is None:
            try:  # nobody may have the terminal open any more
                terminal.process.wait(0.02)
            except subprocess.TimeoutExpired:
                pass
        if typist:
            typist.look(terminal)
        if terminal.process.poll() is not None:
            status = terminal.process.returncode
    if status == "silent":
        os.killpg(terminal.process.pid, signal.SIGKILL)
        running.end_survivors(bench.env["SAFELAUNCH_TEST_MARK"])
        terminal.process.wait()
    while terminal.read(0.1):
        pass
    modes = termios.tcgetattr(terminal.master)
    os.close(terminal.master)
    job, ours = stays(terminal.output)
    return {"status": status, "out": "\n".join(job), "err": "\n".join(ours), "raw": terminal.output.decode(errors="replace")[-4000:],
            "modes": "as before" if modes == terminal.modes else "changed", "seconds": time.monotonic() - began}
