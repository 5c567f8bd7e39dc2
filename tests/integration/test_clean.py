"""What `safelaunch clean` lists and removes of the files that dead jobs left, and the decoys beside them that survive."""

import contextlib
import json
import mmap
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import tempfile
import unittest

from harness import SAFELAUNCH, SafelaunchTest, main, wait_until
from own_mounts import old_file, own_shared_memory
from terminal import Terminal

NOBODY = 65534  # has no Python that could know a segment's name, and no compiler
SHM = pathlib.Path("/dev/shm")


def setUpModule():
    if os.geteuid() != 0:
        raise unittest.SkipTest("files of two users can only be made by root")
    own_shared_memory()


class Clean(SafelaunchTest):
    def setUp(self):
        super().setUp()
        self.home = self.folder / "home"
        self.extensions = self.home / ".cache/torch_extensions/py311_cpu"
        self.extensions.mkdir(parents=True)
        for path in [self.folder, *self.folder.rglob("*")]:
            os.chown(path, NOBODY, NOBODY)

    def tearDown(self):
        for path in SHM.iterdir():
            path.unlink()
        super().tearDown()

    def clean(self, *words, within=()):
        environment = {k: v for k, v in self.environment(HOME=str(self.home)).items() if k != "TORCH_EXTENSIONS_DIR"}
        done = subprocess.run([*within, self.program_for_all(), "clean", *words], env=environment, cwd=self.folder, capture_output=True,
                              text=True, timeout=60, user=None if within else NOBODY)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout

    def segment(self, name, owner=NOBODY):
        return old_file(SHM / name, owner)

    def lock(self, name):
        path = old_file(self.extensions / name / "lock", NOBODY)
        os.chown(path.parent, NOBODY, NOBODY)
        return path

    @contextlib.contextmanager
    def program(self, *words, **options):
        """A process of NOBODY that lives as long as the block."""
        with subprocess.Popen([*words], stdin=subprocess.PIPE, env=self.environment(), user=NOBODY, **options) as process:
            try:
                yield process
            finally:
                process.kill()

    def test_nothing_is_stale_on_a_clean_host(self):
        self.assertEqual(self.clean(), "nothing is stale\n")
        self.assertEqual(json.loads(self.clean("--json")), [])

    def test_a_dry_run_tells_what_is_then_done(self):
        segment, lock = self.segment("nccl-left01"), self.lock("cpu_adam")
        would = self.clean("--all-mine", "--dry-run")
        self.assertTrue(segment.exists() and lock.exists())
        self.assertIn(f"would be removed: {segment} (64 KiB): nobody has it open, but no run of safelaunch has recorded it", would)
        self.assertIn(f"would be removed: {lock} (64 KiB): made 1h ago; nobody holds it, no compiler runs", would)
        self.assertEqual(self.clean("--all-mine"), would.replace("would be removed", "removed"))
        self.assertFalse(segment.exists() or lock.exists())
        self.assertEqual(self.clean(), "nothing is stale\n")

    def test_a_segment_of_our_user_that_no_run_has_recorded_is_left_alone(self):
        segment = self.segment("nccl-left01")
        for words in ((), ("--policy", "orphans")):
            self.assertRegex(self.clean(*words), rf"\Aleft alone: {segment} .*; `safelaunch clean --all-mine` removes it\n\Z")
        self.assertTrue(segment.exists())

    def test_policy_off_lists_and_leaves(self):
        segment = self.segment("nccl-left01")
        self.assertRegex(self.clean("--policy", "off"), rf"\Aleft alone: {segment} ")
        self.assertTrue(segment.exists())

    def test_files_have_the_shape_of_processes_in_json(self):
        lock = self.lock("cpu_adam")
        (line,) = json.loads(self.clean("--json", "--dry-run"))
        self.assertEqual({key: line[key] for key in ("kind", "path", "bytes", "done")},
                         {"kind": "file", "path": str(lock), "bytes": 65536, "done": "would be removed"})
        self.assertIn("made 1h ago", line["why"])

    def test_segments_of_others_and_of_the_living_survive(self):
        young = SHM / "nccl-young1"
        young.touch()
        os.chown(young, NOBODY, -1)
        decoys = [self.segment("nccl-roots1", owner=0), self.segment("pulse-shm-1"), young]
        mapped = self.segment("torch_71_2_0")
        with mapped.open("r+b") as file:
            mapping = mmap.mmap(file.fileno(), 0)  # open no more, and mapped by another user than its owner
        self.assertEqual(self.clean(), "nothing is stale\n")
        self.assertTrue(all(path.exists() for path in [*decoys, mapped]))
        mapping.close()
        self.assertIn(str(mapped), self.clean("--dry-run"))

    def test_a_lock_in_whose_folder_somebody_works_survives(self):
        lock = self.lock("cpu_adam")
        with self.program("cat", cwd=lock.parent):
            self.assertEqual(self.clean(), "nothing is stale\n")
        self.assertTrue(lock.exists())

    def test_a_lock_that_a_build_holds_survives_and_a_young_one_too(self):
        held, young = self.lock("cpu_adam"), self.extensions / "fused_adam/lock"
        young.parent.mkdir()
        young.touch()
        with held.open():
            self.assertEqual(self.clean(), "nothing is stale\n")
        self.assertTrue(held.exists() and young.exists())

    def test_a_lock_is_left_alone_while_a_compiler_of_ours_runs(self):
        lock = self.lock("cpu_adam")
        ninja = self.folder / "ninja"
        shutil.copy(shutil.which("sleep"), ninja)
        with self.program(ninja, "1000"):
            self.assertRegex(self.clean(), rf"left alone: {lock} \(64 KiB\): made \S+ ago; your compiler ninja \(pid \d+\) may")
        self.assertTrue(lock.exists())

    def test_who_holds_a_lock_outside_of_our_container_is_seen_by_the_kernel(self):
        lock = self.lock("cpu_adam")
        for path in (lock, lock.parent):  # within a new pid namespace we are root, and root's they must be
            os.chown(path, 0, -1)
        container = ["unshare", "--pid", "--fork", "--mount-proc"]
        with lock.open():
            self.assertEqual(self.clean(within=container), "nothing is stale\n")
        self.assertIn(f"removed: {lock}", self.clean(within=container))
        self.assertFalse(lock.exists())

    def test_a_lock_in_another_users_folder_is_told_and_left_alone(self):
        lock = self.lock("cpu_adam")
        os.chown(lock.parent, 0, -1)
        self.assertIn(f"left alone: {lock} (64 KiB): its folder belongs to another user", self.clean())
        self.assertTrue(lock.exists())

    def test_a_process_that_is_named_is_shown_and_asked_for_before_it_ends(self):
        with self.program("sleep", "1000") as left:
            words = [self.program_for_all(), "clean", "--pid", str(left.pid)]
            for answer, said, status in (("", "nothing was ended", 130), ("no", "nothing was ended", 130),
                                         ("y", f"ended: pid {left.pid}", 0)):
                terminal = Terminal(words, columns=200, cwd=self.folder, env=self.environment(HOME=str(self.home)), user=NOBODY)
                terminal.read_until(b"End all of this for good? [y/N] ")
                self.assertIsNone(left.poll(), "it ended before anybody said so")
                terminal.type(f"{answer}\r".encode())
                self.assertEqual(terminal.close(), status)
                self.assertIn(f"would be ended: pid {left.pid} (sleep 1000), user nobody, ".encode(), terminal.output)
                self.assertIn(said.encode(), terminal.output)
            self.assertEqual(left.wait(timeout=60), -signal.SIGTERM)

    def test_a_script_says_yes_for_a_named_process_and_nobody_ends_what_is_not_his(self):
        with self.program("sleep", "1000") as left:
            clean = lambda *words: subprocess.run([self.program_for_all(), "clean", *words], env=self.environment(HOME=str(self.home)),
                                                  cwd=self.folder, capture_output=True, text=True, timeout=60, user=NOBODY)
            unasked, others = clean("--pid", str(left.pid)), clean("--pid", str(os.getpid()), "--yes")
            self.assertEqual((unasked.returncode, unasked.stdout), (64, ""))
            self.assertIn("--pid asks on the terminal before it ends anything", unasked.stderr)
            self.assertIn(f"pid {os.getpid()} is not ended: this safelaunch runs below it", others.stderr)
            self.assertIn("would be ended", clean("--pid", str(left.pid), "--dry-run").stdout)
            self.assertIsNone(left.poll())
            (line,) = json.loads(clean("--pid", str(left.pid), "--yes", "--json").stdout)
            self.assertEqual((line["pid"], line["done"]), (left.pid, "ended"))
            self.assertEqual(left.wait(timeout=60), -signal.SIGTERM)

    def test_what_somebody_links_to_is_no_segment(self):
        target = old_file(self.folder / "precious", NOBODY)
        os.symlink(target, SHM / "nccl-link01")
        self.assertEqual(self.clean(), "nothing is stale\n")
        self.assertTrue(target.exists())


class Hidden(SafelaunchTest):
    def test_a_running_job_whose_safelaunch_proc_hides_is_left_alone(self):
        as_nobody = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        hide = ["unshare", "--mount", "sh", "-c", 'mount -t proc -o hidepid=2 proc /proc && exec "$@"', "sh"]
        job = self.start("--clean", "off", *as_nobody, "sh", "-c", "echo pid $$; exec sleep 600")
        try:
            pid = int(job.stdout.readline().split()[1])
            os.chmod(self.folder, 0o755)
            said = subprocess.run([*hide, *as_nobody, self.program_for_all(), "clean", "--dry-run"], cwd="/", capture_output=True,
                                  env=self.environment(HOME="/proc/nonexistent"), text=True, timeout=60)
            self.assertEqual((said.returncode, said.stderr), (0, ""), said.stdout)
            self.assertNotIn(f"pid {pid} ", said.stdout)
        finally:
            job.terminate()
            self.finish(job)


class SilentFileSystem:
    """A FUSE file system that says that it is there and answers nothing else: whoever asks it hangs in the kernel."""

    INIT = struct.Struct("=IIQQIIII")  # length, opcode, unique, …

    def __init__(self):
        self.point = tempfile.mkdtemp(prefix="safelaunch-test-")
        self.device = os.open("/dev/fuse", os.O_RDWR)
        options = f"fd={self.device},rootmode=40000,user_id=0,group_id=0"
        subprocess.run(["mount", "-i", "-t", "fuse", "-o", options, "silent", self.point], check=True, pass_fds=[self.device])
        _, _, unique, *_ = self.INIT.unpack_from(os.read(self.device, 1 << 17))
        answer = struct.pack("=IIIIHHIIHHI28x", 7, 31, 0, 0, 0, 0, 4096, 1, 0, 0, 0)
        os.write(self.device, struct.pack("=IiQ", 16 + len(answer), 0, unique) + answer)

    def take_a_question(self):
        os.read(self.device, 1 << 17)

    def close(self):
        os.close(self.device)  # which ends all who wait
        subprocess.run(["umount", "-l", self.point], check=True)
        os.rmdir(self.point)


class Unkillable(SafelaunchTest):
    def test_a_killed_process_that_cannot_end_is_told_and_not_waited_for(self):
        try:
            system = SilentFileSystem()
        except (OSError, subprocess.CalledProcessError) as error:
            self.skipTest(f"no FUSE here: {error}")
        with contextlib.closing(system):
            process = subprocess.Popen(["cat", f"{system.point}/file"], env=self.environment(LOCAL_RANK="0"),
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            system.take_a_question()
            process.kill()
            stat = pathlib.Path(f"/proc/{process.pid}/stat")
            wait_until(lambda: stat.read_text().rpartition(")")[2].split()[0] == "D", what="uninterruptible sleep")
            told = {verb: self.say(verb) for verb in ("clean", "doctor")}
        process.wait(timeout=60)
        for said in told.values():
            self.assertRegex(said, rf"pid {process.pid} \(cat .*: it was killed, and cannot end before its call into the kernel")
        self.assertRegex(told["clean"], r"(?m)^left alone: ")
        self.assertRegex(told["doctor"], r"(?m)^risk +unkillable: ")

    def say(self, *words):
        return subprocess.run([SAFELAUNCH, *words], env=self.environment(HOME=str(self.folder)), capture_output=True, text=True,
                              timeout=60).stdout


if __name__ == "__main__":
    main(needs=())
