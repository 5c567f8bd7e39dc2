"""The first call that meets the others, of every kind, with faults: named with rank, place and cause, healed where a profile heals.

KIND=all_reduce,ddp in the environment runs these alone, with every fault. With SAFELAUNCH_SOAK=1 every kind has every fault; else
every second kind has a rank that never calls it, the others have one that is stopped inside, and what fails below NCCL is
tried with a few.
"""

import os
import re

from over_doubles import JOBS, SOAK, CudaTest, forked, main, note, spawned, torchrun

JOB = str(JOBS / "first_call.py")
ALL = re.findall(r"^@kind\ndef (\w+)", (JOBS / "first_call.py").read_text(), re.M)
CHOSEN = "KIND" in os.environ
KINDS = os.environ["KIND"].split(",") if CHOSEN else ALL
PLACE = r"first_call\.py:\d+ "
# Its first collective is gloo's, and has ended when NCCL's begins: from then on the job trains.
AFTER_ANOTHER = {"monitored_barrier"}
# It makes the world itself, so a forked rank has not yet said its number.
BEFORE_INIT = {"deepspeeds_own"}
HEALED = ["all_reduce", "ddp", "fsdp2", "pipeline_schedule"]
STUCK = ["batch_of_sends", "objects_broadcast", "thousand_steps_ahead"]


def some(kinds):
    return KINDS if SOAK or CHOSEN else kinds


class FirstCall(CudaTest):
    def play(self, fault, launch, kinds, check, double=""):
        def work(kind):
            run = self.run_job(*launch(JOB), fault=double, KIND=kind, FAULT=fault)
            first = run.attempts[0] if run.attempts else {}
            note(fault=double or fault, kind=kind, status=run.status, cause=(first.get("cause") or {}).get("id"),
                 seconds=first.get("seconds"), profiles=[one["profile"] for one in run.attempts], took=round(run.seconds, 1))
            return lambda: check(run)

        self.each([kind for kind in kinds if kind not in AFTER_ANOTHER], work)

    def test_a_healthy_one_is_left_alone(self):
        """The others are healthy in the second attempt of a healed one."""
        def check(run):
            self.assertEqual(run.out.count("passed"), 2, str(run))
            self.assertEqual(len(run.attempts), 1, str(run))
            self.assertNotIn("safelaunch:", run.err)

        launch = torchrun if SOAK or CHOSEN else forked
        self.play("", launch, [kind for kind in KINDS if kind in HEALED + STUCK], check)

    def test_broken_peer_to_peer_copies_are_healed(self):
        def check(run):
            self.assert_hung(run, "gpu-p2p", says=PLACE)
            self.assert_status(run, 0)
            self.assertEqual([one["profile"] for one in run.attempts], ["basic", "no-p2p"], str(run))
            self.assertEqual(run.out.count("passed"), 2, str(run))

        self.play("", forked, some(HEALED), check, double="p2p-hang")

    def test_a_kernel_that_never_ends_is_named_and_nothing_heals_it(self):
        def check(run):
            self.assert_hung(run, "gpu-p2p", "collective-stuck", says=PLACE)
            self.assert_status(run, 124)

        self.play("", lambda job: ["--only", "--", *forked(job)], some(STUCK), check, double="no-kernel")

    def test_a_rank_that_never_comes_to_init_is_named(self):
        def check(run):
            self.assert_hung(run, "rank-missing", says=r"^Rank 1 was missing.* in " + PLACE + "never_comes")
            self.assert_status(run, 124)

        self.play("absent-before-init", spawned, [kind for kind in KINDS if kind in ("all_reduce", "eager_all_reduce", "two_backends",
                                                                                    "deepspeeds_own")], check)

    def test_a_rank_that_never_calls_it_is_named(self):
        def check(run):
            self.assert_hung(run, "rank-missing", says=r"^Rank 1 (was missing|did not come).* in " + PLACE + "never_comes")
            self.assert_status(run, 124)

        self.play("absent-before-call", forked, some(KINDS[0::2]), check)

    def test_a_rank_that_is_stopped_inside_it_is_named(self):
        def check(run):
            self.assert_hung(run, "rank-stopped", says="^Rank 1 (was missing|did not come through).*stopped")
            self.assert_status(run, 124)

        kinds = some(KINDS[1::2])
        self.play("stopped-inside", lambda job: ["--only", "--", *forked(job)], [kind for kind in kinds if kind not in BEFORE_INIT], check,
                  double="no-kernel")
        self.play("stopped-inside", lambda job: ["--only", *spawned(job)], [kind for kind in kinds if kind in BEFORE_INIT], check,
                  double="no-kernel")


if __name__ == "__main__":
    main()
