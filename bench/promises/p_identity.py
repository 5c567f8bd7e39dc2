"""P7 and P8: only what is proven ours is ended."""

import os
import pathlib
import signal
import subprocess
import time

from harness import children_of, is_alive
from promises.scene import PYTHON
from promises.tries import Untried, expect, tries

SLEEPS = ["sleep", "600"]
CLOCKS_DIFFER = 2.6  # the clocks of files and of processes are not one: of that much safelaunch takes no notice


def leave_stale(scene, words=SLEEPS):
    """A process of a run whose two halves were killed at once: the only one that `clean` may end."""
    process = scene.start(["sh", "-c", '"$@" & echo $! > pid.new; mv pid.new pid; wait', "sh", *words])
    scene.until((scene.work / "pid").exists, "the job")
    stale = int((scene.work / "pid").read_text())
    scene.until(lambda: pathlib.Path(f"/proc/{stale}/comm").read_text() != "sh\n", "the child's exec")
    (supervisor,) = children_of(process.pid)
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in (supervisor, process.pid):
            os.kill(pid, number)
    process.communicate()
    return stale


def _decoys(scene, environment):
    """Processes that look like the stale one: {what it is: its process}."""
    start = lambda words, **more: subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd="/", **more)
    plain = {name: value for name, value in environment.items() if not name.startswith("SAFELAUNCH_")}
    decoys = {
        "an own process without the mark": start(SLEEPS, env=plain, start_new_session=True),
        "a copy of the whole environment": start(SLEEPS, env=environment),
        "a copy of it in a session of its own": start(["sh", "-c", "sleep 600; true"], env=environment, start_new_session=True),
        "one that asked to be kept": start(SLEEPS, env={**environment, "SAFELAUNCH_KEEP": "1"}, start_new_session=True),
        "another safelaunch and its job": start(scene.argv(SLEEPS, options=("--clean", "off")), env=scene.environment(),
                                                start_new_session=True)}
    if os.geteuid() == 0:
        decoys["the same in another pid namespace"] = start(["unshare", "-pf", "--mount-proc", *SLEEPS], env=environment)
        decoys["the same of another user"] = start(SLEEPS, env=environment, user=65534, group=65534, extra_groups=[])
    scene.started += decoys.values()
    return decoys


def _environment_of(pid):
    return dict(one.decode().split("=", 1) for one in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0") if b"=" in one)


@tries("P8", "a stale process among decoys (a copied mark, another user, another namespace, another job): only the stale one is ended",
       6, 1000)
def only_the_stale_one(scene, number, _):
    stale = leave_stale(scene)
    expect(is_alive(stale), "the stale process did not outlive both halves: nothing is tried")
    time.sleep(CLOCKS_DIFFER)  # nothing that a run has started is younger than its last word
    decoys = _decoys(scene, _environment_of(stale))
    parents = [one.pid for name, one in decoys.items() if "safelaunch" in name or "namespace" in name]
    scene.until(lambda: all(children_of(pid) for pid in parents), "the decoys")
    listed = scene.verb("clean", "--dry-run")[1].decode()
    scene.run(["true"]) if number % 2 else scene.verb("clean")
    ended = [name for name, one in decoys.items() if one.poll() is not None]
    expect(not ended, f"ended: {', '.join(ended)}")
    expect(f"pid {stale} " in listed, f"the dry run did not list the stale one: {listed!r}")
    named = [name for name, one in decoys.items() if f"would be ended: pid {one.pid} " in listed]
    expect(not named, f"the dry run lists {', '.join(named)}")
    scene.until(lambda: not is_alive(stale), "the end of the stale one", 10)


# In a pid namespace of its own: kills the stale one while safelaunch is held at the call, and plants an innocent on its pid.
PLANT = """
import os, signal, subprocess, sys, time
stale, ns_last, calls = int(sys.argv[1]), "/proc/sys/kernel/ns_last_pid", sys.argv[2]
until = time.monotonic() + 20
while not os.path.exists(calls) or ("pidfd_open(%d" % stale) not in open(calls).read():
    if time.monotonic() > until: sys.exit("safelaunch never came to the call")
    time.sleep(0.002)
os.kill(stale, signal.SIGKILL)
while os.path.exists("/proc/%d" % stale):
    if time.monotonic() > until: sys.exit("the stale one is not reaped")
    time.sleep(0.002)
open(ns_last, "w").write(str(stale - 1))
innocent = os.fork()
if innocent == 0: os.execvp("sleep", ["sleep", "600"])
if innocent != stale: sys.exit("another process has taken the pid")
open("planted", "w").close()
while not os.path.exists("cleaned"): time.sleep(0.005)
pid, status = os.waitpid(innocent, os.WNOHANG)
os.kill(innocent, 9)
sys.exit("the innocent process was ended" if pid else 0)
"""
# PID 1 of the namespace: it makes the stale process, reaps what it adopts, and lets `clean` run into the exchange.
INSIDE = """
import os, pathlib, signal, subprocess, sys, time
plant, program = sys.argv[1:]
job = subprocess.Popen([program, "--", "sh", "-c", "sleep 600 & echo $! > pid.new; mv pid.new pid; wait"], start_new_session=True)
while not os.path.exists("pid"): time.sleep(0.005)
stale = int(open("pid").read())
while open("/proc/%d/comm" % stale).read() == "sh\\n": time.sleep(0.005)
supervisor = int(open("/proc/%d/task/%d/children" % (job.pid, job.pid)).read().split()[0])
for number in (signal.SIGSTOP, signal.SIGKILL):
    for pid in (supervisor, job.pid): os.kill(pid, number)
job.wait()
held = ["strace", "-f", "-qq", "-o", "calls", "-e", "trace=pidfd_open", "-e", "inject=pidfd_open:" + "delay_enter=500000"]
clean = subprocess.Popen([*held, program, "clean"], stdout=open("said", "w"), stderr=subprocess.STDOUT)
planter = subprocess.Popen([sys.executable, "-S", "-c", plant, str(stale), "calls"])
ends = {}
while len(ends) < 2:
    pid, status = os.wait()
    if pid in (clean.pid, planter.pid): ends[pid] = status
    if pid == clean.pid: open("cleaned", "w").close()
if not os.path.exists("planted"): sys.exit(3)
sys.exit(0 if ends[planter.pid] == 0 else 4)
"""


@tries("P7", "an innocent process gets the stale one's pid between the scan and the kill (pid namespace, strace)", 5, 1000)
def reused_pid(scene, _, __):
    if os.geteuid():
        raise Untried("only root may choose a pid")
    inside = subprocess.Popen(["unshare", "-pf", "--kill-child", "--mount-proc", *PYTHON, INSIDE, PLANT, scene.launcher.program],
                              env=scene.environment(), cwd=scene.work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
    scene.started.append(inside)
    said = inside.communicate(timeout=60)[0].decode(errors="replace")
    expect(inside.returncode != 3, f"nothing was tried: {said[-300:]}")
    expect(inside.returncode == 0, f"{inside.returncode}: {said[-300:]}")
