"""Jobs whose ranks do not all do the same, and are healthy: nobody is blamed, and nothing that has trained is started again."""

import re
import sys

from harness import SafelaunchTest, main, wait_until

# Two of three ranks train, and fail as NCCL fails; the third is in none of their collectives.
TRAINS_WITH_TWO_OF_THREE = """
import time, torch, torch.distributed as dist
dist.init_process_group("gloo")
some = dist.new_group([0, 1])
if dist.get_rank() == 2:
    time.sleep(3600)
dist.all_reduce(torch.ones(1), group=some)
dist.all_reduce(torch.ones(1), group=some)
if dist.get_rank() == 0:
    raise dist.DistBackendError("NCCL error in: ProcessGroupNCCL.cpp:1, unhandled system error, NCCL version 2.21.5")
time.sleep(3600)
"""

# Rank 2 has nothing to do and leaves before rank 1 joins rank 0 in a collective of theirs.
ONE_LEAVES_EARLY = """
import os, sys, time, torch, torch.distributed as dist
dist.init_process_group("gloo")
some, store, rank = dist.new_group([0, 1]), dist.distributed_c10d._get_default_store(), dist.get_rank()
store.set(f"in{rank}", "1")
store.wait(["in0", "in1"])  # nobody leaves while another is still connecting
if rank == 2:
    sys.exit(0)
while rank == 1 and not os.path.exists("go"):
    time.sleep(0.05)
dist.all_reduce(torch.ones(1), group=some)
"""

# A rank that ends its group, and starts a program that makes one as the same rank at the same place.
STARTS_ANOTHER = """
import gc, os, subprocess, sys, time, torch, torch.distributed as dist
dist.init_process_group("gloo")
if len(sys.argv) == 1:
    store, rank = dist.distributed_c10d._get_default_store(), dist.get_rank()
    store.set(f"in{rank}", "1")
    store.wait(["in0", "in1"])
    while rank == 0 and not os.path.exists("1 is done"):  # rank 0 has the store
        time.sleep(0.05)
    dist.destroy_process_group()
    del store
    gc.collect()
    open(f"{rank} is done", "w").close()
    while not os.path.exists("0 is done"):
        time.sleep(0.05)
    sys.exit(subprocess.run([sys.executable, __file__, "child"]).returncode)
dist.barrier()
print("child done")
"""

# Each child is a Python that tells us of itself; the parent looks at how many files safelaunch has open.
STARTS_MANY = """
import os, subprocess, sys, time
def open_files():
    return len(os.listdir(f"/proc/{os.getppid()}/fd"))
subprocess.run([sys.executable, "-c", ""])
before = open_files()
for _ in range(30):
    subprocess.run([sys.executable, "-c", ""])
for _ in range(600):
    if open_files() < before + 10:
        sys.exit(0)
    time.sleep(0.1)
sys.exit("safelaunch keeps a file open for each process that has ended")
"""


class UnevenRanks(SafelaunchTest):
    def own_spawn(self, ranks, script):
        return self.run_safelaunch("--nproc-per-node", str(ranks), "--", sys.executable, self.script(script))

    def test_what_has_trained_with_some_ranks_is_not_started_again(self):
        run = self.own_spawn(3, TRAINS_WITH_TWO_OF_THREE)
        self.assertEqual(len(run.attempts), 1, str(run))
        self.assertIn("training may have begun", run.err)

    def test_a_rank_that_leaves_early_hangs_nobody_who_does_not_need_it(self):
        job = self.start("--nproc-per-node", "3", "--", sys.executable, self.script(ONE_LEAVES_EARLY))
        events = job.run_directory / "events.jsonl"
        seen = [r'"e":"exit".*"rank":2', r"collective 0/3 · waiting"]  # rank 0 is in its all_reduce
        wait_until(lambda: events.exists() and all(re.search(one, events.read_text()) for one in seen), what="rank 2's end")
        (self.folder / "go").touch()
        run = self.finish(job)
        self.assert_status(run, 0)
        self.assertEqual(len(run.attempts), 1, str(run))

    def test_a_rank_that_ends_its_group_may_start_another_program_as_the_same_rank(self):
        run = self.own_spawn(2, STARTS_ANOTHER)
        self.assert_status(run, 0)
        self.assertEqual(run.out.count("child done"), 2)

    def test_processes_that_have_ended_hold_no_file_open(self):
        self.assert_status(self.own_spawn(1, STARTS_MANY), 0)


if __name__ == "__main__":
    main()
