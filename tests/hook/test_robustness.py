"""Doing no harm: whatever happens to safelaunch or to the hook, the program goes on as without them."""
import importlib.util
import os
import signal
import socket
import subprocess
import sys
import unittest

import harness
import torch_at_hand
from collector import Collector, PATIENCE

TRAIN = """
    import torch, torch.distributed as dist
    dist.init_process_group("gloo")
    dist.all_reduce(torch.ones(1))
    dist.destroy_process_group()
    print("trained")
"""
ALONE = dict(RANK=0, LOCAL_RANK=0, WORLD_SIZE=1, MASTER_ADDR="127.0.0.1")


class Safelaunch(harness.HookTest):
    def train(self, collector, text=TRAIN, **variables):
        env = harness.environment(collector, MASTER_PORT=harness.free_port(), **dict(ALONE, **variables))
        return harness.python(harness.script(text), env)

    def test_that_never_was_there(self):
        result = self.train(None, SAFELAUNCH_HOOK="/no/such/socket")
        self.assertEqual((result.code, result.out, result.err), (0, "trained\n", ""))

    def test_that_is_gone_before_torch_is_imported(self):
        with Collector() as collector:
            text = "import sys; print('started', flush=True); sys.stdin.readline()\n" + harness.textwrap.dedent(TRAIN)
            env = harness.environment(collector, MASTER_PORT=harness.free_port(), **ALONE)
            process = subprocess.Popen([sys.executable, harness.script(text)], env=env, text=True, stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            collector.wait_for_worker("start")
            collector.close()
            out, err = process.communicate("\n", timeout=120)
            self.assertEqual((process.returncode, out, err), (0, "started\ntrained\n", ""))

    def test_that_never_reads_does_not_stop_a_worker(self):
        with Collector(reads=False) as collector:
            result = self.train(collector, """
    import torch, torch.distributed as dist
    dist.init_process_group("gloo")
    for _ in range(300):
        dist.new_group([0])
    dist.destroy_process_group()
    print("trained")
""")
            self.assertEqual((result.code, result.out), (0, "trained\n"), result)

    def test_that_never_accepts_does_not_stop_a_worker(self):
        with harness.tempfile.TemporaryDirectory() as folder:
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
                listener.bind(folder + "/socket")
                listener.listen(0)
                full = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                full.connect(folder + "/socket")
                with full:
                    result = self.train(None, SAFELAUNCH_HOOK=folder + "/socket")
                    self.assertEqual((result.code, result.out, result.err), (0, "trained\n", ""))

    def test_that_is_slow_learns_how_many_events_it_has_missed(self):
        path = harness.script("""
            import sys
            from _safelaunch_hook import channel
            for number in range(1000):
                channel.emit("number", number=number)
            here = channel._connection
            print(1000 - here.dropped - len(here.waiting), flush=True)
            sys.stdin.readline()
            channel.emit("number", number=1000)
            channel.emit("number", number=1001)
        """)
        with Collector(reads=False) as collector:
            process = subprocess.Popen([sys.executable, path], env=harness.environment(collector), text=True,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            sent = int(process.stdout.readline())
            collector.read_all()
            worker = collector.wait_for_worker("number")
            worker.news.wait_for(lambda: len(worker.all("number")) == sent, PATIENCE, "all that was sent")
            process.communicate("\n", timeout=60)
            worker = collector.drained().workers[0]
            numbers = [event["number"] for event in worker.all("number")]
            dropped = sum(event.get("dropped", 0) for event in worker.events)
            self.assertGreater(dropped, 0)
            self.assertEqual(numbers[-2:], [1000, 1001])
            self.assertEqual(len(numbers) + dropped, 1002)

    def test_a_program_that_resets_sigpipe_lives_on_when_safelaunch_goes(self):
        with Collector() as collector:
            env = harness.environment(collector)
            path = harness.script("""
                import signal, sys
                signal.signal(signal.SIGPIPE, signal.SIG_DFL)
                print("started", flush=True)
                sys.stdin.readline()
            """)
            process = subprocess.Popen([sys.executable, path], env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            process.stdout.readline()
            collector.wait_for_worker("start")
            collector.close()
            process.communicate("\n", timeout=60)
            self.assertEqual(process.returncode, 0)

    def test_a_program_that_closes_all_descriptors_gets_no_packet_of_ours_in_its_own(self):
        result = harness.python(harness.script("""
            import os, socket
            os.closerange(3, 100)
            pairs = [socket.socketpair() for _ in range(8)]
            from _safelaunch_hook import channel
            channel.emit("number", number=1)
            for pair in pairs:
                for end in pair:
                    end.setblocking(False)
                    try:
                        print("got", end.recv(100))
                    except BlockingIOError:
                        pass
        """), self.environment_with_socket())
        self.assertEqual((result.code, result.out, result.err), (0, "", ""))

    def test_a_program_that_closes_our_descriptor_while_our_thread_waits_is_let_go_at_the_next_question(self):
        with Collector() as collector:
            path = harness.script("""
                import os, sys, time
                from _safelaunch_hook import answers
                answers.listen()
                while "safelaunch" not in [open("/proc/self/task/%s/comm" % task).read().strip() for task in os.listdir("/proc/self/task")]:
                    time.sleep(0.01)
                os.closerange(3, 100)
                print("closed", flush=True)
                sys.stdin.readline()
            """)
            process = subprocess.Popen([sys.executable, path], env=harness.environment(collector), text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            process.stdout.readline()
            worker = collector.wait_for_worker("start")
            try:
                worker.connection.send(b'{"q":"here","id":0}')
            except OSError:
                pass  # our thread had its name and did not wait yet: then it goes without being asked
            collector.drained()
            process.communicate("\n", timeout=60)
            self.assertEqual(process.returncode, 0)

    def environment_with_socket(self):
        collector = Collector()
        self.addCleanup(collector.__exit__)
        return harness.environment(collector)

    def test_a_hook_that_fails_everywhere_breaks_nothing(self):
        for module in ("channel", "ending", "torch_stages", "collective", "answers", "exceptions"):
            with self.subTest(module), harness.tempfile.TemporaryDirectory() as folder:
                broken = folder + "/hook"
                harness.shutil.copytree(harness.HOOK, broken)
                with open("%s/_safelaunch_hook/%s.py" % (broken, module), "w") as file:
                    file.write("raise RuntimeError('broken on purpose')\n")
                with Collector() as collector:
                    result = self.train(collector, PYTHONPATH=broken)
                    self.assertEqual((result.code, result.out, result.err), (0, "trained\n", ""))


class Greenlets(harness.HookTest):
    """Programs that put their own in the place of Python's threads: what we start there runs in theirs."""

    # As gevent does: the function runs in the main thread, and what it waits for the program waits for.
    PATCH = """
    import _thread
    def run_in_this_thread(function, arguments=(), more={}):
        function(*arguments, **more)
        return 1
    _thread.start_new_thread = run_in_this_thread
"""

    def train(self, text, **variables):
        with Collector() as collector:
            env = harness.environment(collector, MASTER_PORT=harness.free_port(), **dict(ALONE, **variables))
            result = harness.run([sys.executable, harness.script(text)], env, timeout=120)
            self.assertEqual((result.code, result.out, result.err), (0, "trained\n", ""))
            self.assert_no_fault(collector.drained())
            return collector.workers[0].names()

    def test_in_the_place_of_threads_do_not_wait_for_our_questions(self):
        names = self.train(self.PATCH + TRAIN)
        self.assertEqual(names[-3:], ["coll.enter", "coll.done", "exit"])

    @torch_at_hand.needs(torch_at_hand.entry_points_of_backends)
    def test_that_were_there_before_us_get_no_thread_of_ours(self):
        folder = os.path.dirname(harness.script(self.PATCH, "sitecustomize.py"))
        names = self.train(TRAIN, PYTHONPATH=":".join([folder, harness.HOOK, harness.TORCH_DOOR]))
        self.assertEqual(names[-3:], ["coll.enter", "coll.done", "exit"])

    @unittest.skipUnless(importlib.util.find_spec("gevent"), "no gevent")
    def test_of_gevent_train_as_without_us(self):
        self.train("    from gevent import monkey; monkey.patch_all()\n" + TRAIN)

    @unittest.skipUnless(importlib.util.find_spec("eventlet"), "no eventlet")
    def test_of_eventlet_train_as_without_us(self):
        self.train("    import warnings; warnings.simplefilter('ignore')\n    import eventlet; eventlet.monkey_patch()\n" + TRAIN)


class Children(harness.HookTest):
    def test_workers_of_a_dataloader_do_not_keep_the_connection(self):
        path = harness.script("""
            import os, signal, sys
            import torch, torch.distributed as dist
            from torch.utils.data import DataLoader
            dist.init_process_group("gloo")
            dist.barrier()
            class Data(torch.utils.data.Dataset):
                def __len__(self): return 8
                def __getitem__(self, index): return index
            batches = iter(DataLoader(Data(), num_workers=2, multiprocessing_context="fork"))
            next(batches)
            print("loading", flush=True)
            sys.stdin.readline()
        """)
        with Collector() as collector:
            env = harness.environment(collector, MASTER_PORT=harness.free_port(), **ALONE)
            process = subprocess.Popen([sys.executable, path], env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.assertEqual(process.stdout.readline(), "loading\n")
            with open("/proc/%d/task/%d/children" % (process.pid, process.pid)) as file:
                children = [int(pid) for pid in file.read().split()]
            self.assertEqual(len(children), 2)
            for child in children:
                os.kill(child, signal.SIGSTOP)  # so that they outlive the rank for sure
            try:
                process.kill()
                process.wait()
                process.stdin.close()
                process.stdout.close()
                collector.drained()
            finally:
                for child in children:
                    os.kill(child, signal.SIGKILL)
            self.assertEqual([worker.pid for worker in collector.workers], [process.pid])

    def test_a_program_forks_beside_our_thread_and_goes_on(self):
        path = harness.script("""
            import os, torch
            child = os.fork()
            if child == 0:
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
        """)
        with Collector() as collector:
            self.assert_ended_well(harness.python(path, harness.environment(collector, **ALONE)))

    def test_an_interpreter_that_makes_warnings_errors_has_nothing_to_say(self):
        with Collector() as collector:
            env = harness.environment(collector, **ALONE)
            for options in (["-W", "error"], ["-X", "dev"], ["-bb"]):
                result = harness.run([sys.executable] + options + ["-c", "pass"], env)
                self.assertEqual((result.code, result.out, result.err), (0, "", ""), options)


if __name__ == "__main__":
    harness.main("torch")
