"""--metrics: the figures of a run, as node_exporter's textfile collector reads them."""

import os
import re
import stat
import sys
import time

from harness import SafelaunchTest, main, wait_until

TRAINS = """
import os, time, torch, torch.distributed as dist
dist.init_process_group("gloo")
going = torch.ones(1)
while going.item():
    going.fill_(0 if os.path.exists("stop") else 1)
    dist.broadcast(going, 0)
    time.sleep(0.01)
"""
LINE = re.compile(r'^(safelaunch_\w+)\{run="[\w-]+"((?:,\w+="[^"]*")*)\} (-?[\d.]+)$')


class Metrics(SafelaunchTest):
    def figures(self):
        """{name and labels but the run's: value}; every line must be a comment or a sample."""
        try:
            text = (self.folder / "job.prom").read_text()
        except FileNotFoundError:
            return {}
        self.assertTrue(text.endswith("\n"), text)
        found = {}
        for line in text.splitlines():
            if not re.match(r"# (HELP|TYPE) safelaunch_\w+ .", line):
                self.assertRegex(line, LINE)
                name, labels, value = LINE.match(line).groups()
                found[name + labels] = float(value)
        return found

    def test_the_figures_follow_the_run_to_its_end(self):
        job = self.start("--metrics", "job.prom", "--stall-timeout", "2s", "--nproc-per-node", "2", "--", sys.executable, self.script(TRAINS))
        count = 'safelaunch_rank_collectives_finished_total,rank="1"'
        wait_until(lambda: self.figures().get(count, 0) > 0, what="the collectives of rank 1")
        known = self.figures()
        self.assertEqual((known["safelaunch_running"], known["safelaunch_attempt"], known["safelaunch_training"]), (1, 1, 1))
        self.assertEqual(known['safelaunch_profile_info,profile="basic"'], 1)
        self.assertEqual(known["safelaunch_ranks"], 2)
        self.assertEqual(known['safelaunch_rank_stage_info,rank="0",stage="collective"'], 1)
        self.assertIn('safelaunch_rank_last_collective_age_seconds,rank="1"', known)
        wait_until(lambda: self.figures()[count] > known[count], what="more of them")
        (self.folder / "stop").touch()
        self.assert_status(self.finish(job), 0)
        self.assertEqual(self.figures(), {"safelaunch_running": 0, "safelaunch_exit_status": 0, "safelaunch_attempt": 1,
                                          'safelaunch_profile_info,profile="basic"': 1, "safelaunch_training": 1})
        self.assertEqual([path.name for path in self.folder.glob("job.prom*")], ["job.prom"])
        self.assertEqual(stat.S_IMODE((self.folder / "job.prom").stat().st_mode), 0o644)

    def test_the_next_run_takes_the_place_of_the_last(self):
        for status in (3, 4):
            run = self.run_safelaunch("--metrics", "job.prom", "sh", "-c", f"exit {status}")
            self.assert_status(run, status)
            self.assertEqual(self.figures()["safelaunch_exit_status"], status)
            self.assertNotIn("--metrics", run.err)

    def test_a_job_with_the_file_of_one_that_still_runs_is_told_so(self):
        file = self.folder / "job.prom"
        for seconds, told in ((0, True), (60, False)):  # then it was killed
            file.write_text('# HELP safelaunch_running x\n# TYPE safelaunch_running gauge\nsafelaunch_running{run="1126-0f"} 1\n')
            os.utime(file, (time.time() - seconds,) * 2)
            run = self.run_safelaunch("--metrics", "job.prom", "true")
            self.assert_status(run, 0)
            self.assertEqual("--metrics job.prom: run 1126-0f writes it, too; each job needs" in run.err, told, run.err)

    def test_a_file_that_may_not_be_written_is_refused_before_the_start(self):
        (self.folder / "folder.prom").mkdir()
        (self.folder / "link.prom").symlink_to(self.folder / "elsewhere.prom")
        (self.folder / "other.prom").write_text("node_up 1\n")
        for file, why in (("job.txt", "reads only names in .prom"), ("missing/job.prom", "No such file"), ("folder.prom", "holds no figures"),
                          ("link.prom", "holds no figures"), ("other.prom", "holds no figures of safelaunch"),
                          ("/proc/self/job.prom", "No such file")):
            run = self.run_safelaunch("--metrics", file, "touch", "ran")
            self.assert_status(run, 64)
            self.assertIn(f"--metrics {file}: ", run.err)
            self.assertIn(why, run.err)
        self.assertFalse((self.folder / "ran").exists())
        self.assertEqual((self.folder / "other.prom").read_text(), "node_up 1\n")

    def test_a_settings_file_that_nobody_has_named_may_not_name_one(self):
        (self.folder / "safelaunch.yaml").write_text("options: {metrics: job.prom}\n")
        run = self.run_safelaunch("true", cwd=self.folder)
        self.assertIn("it sets the option metrics", run.err)
        self.assertFalse((self.folder / "job.prom").exists())


if __name__ == "__main__":
    main()
