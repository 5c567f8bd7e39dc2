"""A group that NCCL splits off a world which has its communicator: all ranks of the world meet for it, before any collective."""

from over_doubles import JOBS, CudaTest, main, spawned

KINDS = ("new_group", "split_group", "device_mesh", "deepspeed")


class EagerGroups(CudaTest):
    def play(self, check, **variables):
        def work(kind):
            run = self.run_job(*spawned(str(JOBS / "eager_groups.py"), ranks=3), gpus=3, KIND=kind, **variables)
            return lambda: check(kind, run)

        self.each(KINDS, work)

    def test_a_rank_that_never_comes_to_it_is_named(self):
        """Rank 2 is no member of the new_group, and yet the others wait for it."""
        def check(kind, run):
            self.assert_hung(run, "rank-missing", says=r"^Rank 2 was missing.* in eager_groups\.py:\d+ never_comes")
            self.assert_status(run, 124)

        self.play(check, ABSENT="2")

    def test_healthy_ones_are_left_alone(self):
        def check(kind, run):
            self.assertEqual((run.status, run.out.count("made"), len(run.attempts)), (0, 3, 1), str(run))
            self.assertNotIn("hung", run.err)

        self.play(check)


if __name__ == "__main__":
    main()
