"""Real Slurm: one safelaunch on each of two nodes, started by srun. Needs slurmctld and slurmd, and root."""

import pathlib
import shutil
import subprocess
import sys
import unittest

import harness
import hosts
from harness import SafelaunchTest

RANK = """
import os, signal, sys, time
import torch, torch.distributed as dist

def never_comes():
    time.sleep(1000)

saved = []

# Slurm signals all processes of a step, and safelaunch its ranks: they have the signal twice.
def saves(*_):
    if not saved:
        saved.append(True)
        open(f"saved-{rank}", "w").close()
        os._exit(0)

rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
what = sys.argv[1]
signal.signal(signal.SIGTERM, saves)
if what == "hang" and rank == world - 1:
    never_comes()
dist.init_process_group("gloo")
total = torch.ones(1)
dist.all_reduce(total)
print("rank", rank, "of", world, "has", int(total), flush=True)
if what == "long" or (what == "once" and os.environ.get("SLURM_RESTART_COUNT", "0") == "0"):
    time.sleep(1000)
"""


def why_not():
    missing = [tool for tool in ("slurmctld", "slurmd", "srun") if shutil.which(tool) is None]
    if missing:
        return f"{missing[0]} is not installed (Debian: slurmctld, slurmd and slurm-client)"
    return hosts.why_not()


@unittest.skipIf(why_not(), why_not())
class Slurm(SafelaunchTest):
    def under_slurm(self, script, within=180):
        """What a shell script with `srun` in it says in a cluster of two nodes."""
        rank = self.script(RANK, "train.py")
        agents = f"{harness.SAFELAUNCH} --no-preflight --nproc-per-node 2 --master-addr 127.0.0.1 --init-timeout 6s"
        text = script.replace("AGENTS", agents).replace("RANKS", f"{sys.executable} {rank}")
        path = pathlib.Path(self.script("#!/bin/bash\n" + text, "commands.sh"))
        path.chmod(0o755)
        cluster = self.folder / "cluster"
        cluster.mkdir()
        command = ["unshare", "-mpfn", "--mount-proc", "--kill-child", str(pathlib.Path(__file__).parent / "slurm.sh"),
                   str(cluster), str(path)]
        out = self.folder / "out"
        with out.open("wb") as to:
            try:
                subprocess.run(command, env=self.environment(HOME=str(self.folder)), cwd=self.folder, stdout=to,
                               stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=within)
            except subprocess.TimeoutExpired:
                self.fail(f"no end within {within} s\n" + out.read_text(errors="replace"))
        return out.read_text(errors="replace")

    def test_agents_find_their_number_and_each_other_in_slurms_variables(self):
        said = self.under_slurm("srun -l -N2 --ntasks-per-node=1 AGENTS RANKS quick; echo status $?")
        self.assertIn("status 0", said)
        self.assertRegex(said, "0: rank 0 of 4 has 4")
        self.assertRegex(said, "1: rank 3 of 4 has 4")

    def test_a_rank_that_hangs_is_named_with_its_function(self):
        said = self.under_slurm("srun -l -N2 --ntasks-per-node=1 AGENTS RANKS hang; echo status $?")
        self.assertIn("status 124", said)
        self.assertIn("hung: rank 3 never joined the process group", said)
        self.assertIn("never_comes", said)

    def test_scancel_lets_the_ranks_save(self):
        said = self.under_slurm("""
srun -l -N2 --ntasks-per-node=1 --kill-on-bad-exit=0 AGENTS RANKS long > said 2>&1 &
until [ $(grep -c "has 4" said) = 4 ]; do sleep 0.2; done
scancel -s TERM $(squeue -h -o %i)
wait $!
echo status $?
cat said
""")
        self.assertIn("status 143", said)
        # Not their output: srun may close before its last lines.
        self.assertEqual(len(list(self.folder.rglob("saved-*"))), 4, said)

    def test_a_job_that_is_requeued_meets_again(self):
        said = self.under_slurm("""
cat > job.sbatch <<END
#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --requeue --open-mode=append --output=said
srun -l --kill-on-bad-exit=0 AGENTS RANKS once
echo status \\$?
END
job=$(sbatch --parsable job.sbatch)
until [ $(grep -c "has 4" said 2> /dev/null) = 4 ]; do sleep 0.2; done
scontrol requeue $job
# A slurmd refuses a job whose credential was revoked within the same second, and srun then waits.
sleep 2
scontrol update jobid=$job starttime=now
until grep -q "status 0" said; do sleep 0.5; scontrol update jobid=$job starttime=now 2> /dev/null; done
cat said
""")
        self.assertEqual(said.count("has 4"), 8, said)
        self.assertIn("status 0", said)


if __name__ == "__main__":
    harness.main()
