"""P25: many relaunches in one supervisor cost it neither descriptors nor memory."""

import sys

from harness import ROOT
from promises.tries import expect, tries

RELAUNCHES, SOAKED = 25, 999  # of --soak; --max-attempts goes up to 1000
PROFILE = "name: goes-on\nextends: basic\nresume: {marker: 'ckpt/*.pt', append: [--resume]}\nrestarts: 1\n"
# Trains, saves a checkpoint, notes what its supervisor holds, and is killed, but for the last time.
DIES = """
import os, re, signal, sys, time
sys.path.insert(0, FOLDER)
again = sys.argv.pop() == "--resume"
sys.argv[1:] = []
import light_worker
attempt = len(os.listdir("ckpt"))
def ends(self, event, **fields):
    tell(self, event, **fields)
    if event != "coll.done" or light_worker.RANK != 0: return
    status = open("/proc/%d/status" % os.getppid()).read()
    held = min(len(os.listdir("/proc/%d/fd" % os.getppid())) for _ in range(40) if not time.sleep(0.005))
    with open("held", "a") as file: file.write("%d %s\\n" % (held, re.search(r"RssAnon:\\s+(\\d+)", status)[1]))
    if attempt == MOST: return
    open("new", "w").write("x")
    os.rename("new", "ckpt/%06d.pt" % attempt)
    os.kill(os.getpid(), signal.SIGKILL)
tell, light_worker.Hook.tell = light_worker.Hook.tell, ends
light_worker.main()
"""


@tries("P25", f"{RELAUNCHES} relaunches in one supervisor ({SOAKED} in the second trial, of --soak): descriptors the same, memory more",
       1, 2, unit="KiB")
def relaunches(scene, number, _):
    count = SOAKED if number else RELAUNCHES
    (scene.work / "ckpt").mkdir()
    (scene.work / "goes-on.yaml").write_text(PROFILE)
    script = scene.work / "job.py"
    script.write_text(f"FOLDER, MOST = {str(ROOT / 'tests/integration')!r}, {count}\n{DIES}")
    options = ("--profile", "./goes-on.yaml", "--max-attempts", str(count + 1))
    status, _, err = scene.run([sys.executable, script], ranks=2, options=options, timeout=20 * count)
    held = [tuple(map(int, line.split())) for line in (scene.work / "held").read_text().splitlines()]
    expect(status == 0 and len(held) == count + 1, f"status {status} after {len(held)} attempts: {err[-400:]!r}")
    settled, last = held[2:7], held[-5:]
    expect(min(last)[0] <= max(settled)[0], f"descriptors: {[fds for fds, _ in held]}")
    return last[-1][1] - settled[0][1]
