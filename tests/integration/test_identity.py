"""Which process is a rank: shells that are the rank, and the helpers that they start first."""

import pathlib
import sys

from harness import SafelaunchTest, free_port, main, torchrun

LIGHT_WORKER = str(pathlib.Path(__file__).with_name("light_worker.py"))

# Under torchrun nobody tells us who the ranks are, and a shell has no hook: its helper speaks first.
HELPER_FAILS = f"""#!/bin/sh
{sys.executable} -c "raise SystemExit(1)"
sleep 2
MASTER_PORT=$1 exec {sys.executable} {LIGHT_WORKER}
"""
HELPER_ENDS = f"""#!/bin/sh
{sys.executable} -c pass
[ "$RANK" = 0 ] || sleep 3
MASTER_PORT=$1 exec {sys.executable} {LIGHT_WORKER}
"""


class Shells(SafelaunchTest):
    def run_below_torchrun(self, script):
        shell = self.script(script, "run.sh")
        run = self.run_safelaunch("--", *torchrun("--nproc-per-node=2", "--no-python", shell, str(free_port())))
        self.assert_status(run, 0)
        self.assertIn("2 ranks met", run.out)
        self.assertNotIn("verdict", [event["e"] for event in run.events], str(run))
        self.assertEqual(len(run.attempts), 1, str(run))

    def test_a_helper_that_fails_is_not_the_rank(self):
        self.run_below_torchrun(HELPER_FAILS)

    def test_a_helper_that_ends_is_not_the_rank_while_another_rank_waits(self):
        self.run_below_torchrun(HELPER_ENDS)


class ClosedDescriptors(SafelaunchTest):
    def test_a_rank_that_closes_its_hooks_descriptor_and_waits_is_not_the_missing_one(self):
        script = self.script("import os, time\nimport torch.distributed as dist\n"
                             "rank = os.environ['RANK']\n"
                             "if rank == '1': os.closerange(3, 4096)\n"
                             "if rank == '2': time.sleep(600)\n"
                             "dist.init_process_group('gloo')\n")
        run = self.run_safelaunch("--init-timeout", "10s", "--quiet-timeout", "10s", "--only", *torchrun("--nproc_per_node=3", script))
        self.assert_status(run, 124)
        verdict = next(event for event in run.events if event["e"] == "verdict")
        self.assertEqual(verdict["missing"], [2], str(run))


if __name__ == "__main__":
    main()
