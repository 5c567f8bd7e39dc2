"""Servers of models: their start is over once they answer, and the communicators that vLLM and SGLang make past torch belong to it.

vLLM itself is far too large for a test: a command of its name does what it does, with a PyNcclCommunicator that meets by files.
"""

import os
import signal
import subprocess

import server_stand_in
from harness import SafelaunchTest, free_port, main, wait_until

SHORT = ["--init-timeout", "4s", "--quiet-timeout", "3s", "--collective-timeout", "4s", "--probe", "never"]

PYNCCL = """
import os, time
import torch.distributed as dist

class NCCLLibrary:
    def ncclCommInitRank(self, world, unique_id, rank):
        mark = os.environ["PYNCCL_MEETS"] + os.environ["SAFELAUNCH_ATTEMPT"]
        open(mark + "." + str(rank), "w").close()
        while not all(os.path.exists(mark + "." + str(other)) for other in range(world)):
            time.sleep(0.05)

class PyNcclCommunicator:
    def __init__(self, group, device):
        NCCLLibrary().ncclCommInitRank(dist.get_world_size(group), None, dist.get_rank(group))
"""


class Servers(SafelaunchTest):
    def serve(self, *options, **variables):
        program, packages = server_stand_in.make(self.folder, PYNCCL)
        self.meets = str(self.folder / "meets")
        environment = self.environment(PYTHONPATH=str(packages), PYNCCL_MEETS=self.meets,
                                       ENGINE_PORT=str(free_port()), **variables)
        return self.start(*SHORT, *options, "--", program, "serve", "model", env=environment)

    def up(self):
        wait_until(lambda: os.path.exists(self.meets + ".up"), what="the server")

    def let_it_end(self):
        open(self.meets + ".over", "w").close()

    def test_a_worker_that_lacks_in_a_communicator_past_torch_is_named(self):
        run = self.finish(self.serve(FAULT="lacks"))
        self.assert_status(run, 124)
        (attempt,) = run.attempts
        self.assertEqual((attempt["end"], attempt["cause"]["id"]), ("hung", "rank-missing"), str(run))
        self.assertRegex(attempt["cause"]["explanation"], r"vllm:\d+ .*loads_for_ever")

    def test_it_serves_once_it_answers_and_is_not_started_again_when_it_fails_then(self):
        job = self.serve(FAULT="fails later")
        self.up()
        wait_until(lambda: "serving" in self.verb("status"), what="the word")
        self.let_it_end()
        run = self.finish(job)
        self.assert_status(run, 1)
        self.assertEqual(len(run.attempts), 1, str(run))

    def test_one_that_cannot_listen_and_waits_for_its_workers_is_ended_with_its_status(self):
        run = self.finish(self.serve(FAULT="cannot listen"))
        self.assert_status(run, 1)
        (attempt,) = run.attempts
        self.assertEqual(attempt["cause"]["id"], "server-port-taken", str(run))
        self.assertIn("the server cannot listen, and has not ended within 10s: it is ended now", run.err)

    def test_an_idle_server_has_no_slow_rank(self):
        job = self.serve("--stall-timeout", "4s", FAULT="idles")
        self.up()
        with self.assertRaises(subprocess.TimeoutExpired, msg="some rounds of questions"):
            job.communicate(timeout=12)
        self.let_it_end()
        run = self.finish(job)
        self.assert_status(run, 0)
        self.assertNotIn("straggler", {event["e"] for event in run.events})

    def test_ctrl_c_ends_it_with_its_own_status(self):
        job = self.serve()
        self.up()
        job.send_signal(signal.SIGINT)
        self.assert_status(self.finish(job), 130)


if __name__ == "__main__":
    main()
