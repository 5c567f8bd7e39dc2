"""Ranks that cannot answer: their frames are read from their memory."""
from harness import SafelaunchTest, forked, main, torchrun

BEFORE_TORCH = """
import os, time

def 读取(path):
    time.sleep(100000)

if os.environ["RANK"] == "1":
    读取("tokens")
import torch.distributed as dist
dist.init_process_group("gloo")
"""

HOLDS_THE_GIL = """
import ctypes, os
import torch.distributed as dist

def compute():
    ctypes.PyDLL(None).sleep(100000)

if os.environ["RANK"] == "1":
    compute()
dist.init_process_group("gloo")
"""


LOADS_FIRST = """
import os, time
import torch.distributed as dist

def load():
    time.sleep(100000)

if os.environ["RANK"] == "1":
    load()
dist.init_process_group("gloo")
"""


class PythonFrames(SafelaunchTest):
    def hang(self, script, place):
        run = self.run_safelaunch("--init-timeout", "8s", "--max-attempts", "1", *torchrun("--standalone", "--nproc-per-node=2", self.script(script)))
        self.assertEqual(run.status, 124, str(run))
        self.assertIn(f"  --> job.py:{place}\n", run.err)

    def test_a_rank_that_stands_still_before_it_imports_torch_is_named_with_its_line(self):
        self.hang(BEFORE_TORCH, "5 in 读取:  time.sleep(100000)")

    def test_a_rank_that_holds_the_gil_is_named_with_its_line(self):
        self.hang(HOLDS_THE_GIL, "6 in compute:  ctypes.PyDLL(None).sleep(100000)")

    def test_a_forked_rank_that_has_not_said_its_number_is_told_with_its_line(self):
        run = self.run_safelaunch("--init-timeout", "4s", "--only", "--", *forked(self.script(LOADS_FIRST)))
        self.assert_status(run, 124)
        self.assertRegex(run.err, r"Pid \d+ \(python\S* .*by_fork.*\) in job\.py:6 load has not said which rank it is\.")


if __name__ == "__main__":
    main()
