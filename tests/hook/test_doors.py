"""How the hook comes into an interpreter, and who else is let in beside it."""
import os
import subprocess
import sys
import textwrap

import harness
import torch_at_hand
from collector import Collector

ALONE = dict(RANK=0, LOCAL_RANK=0, WORLD_SIZE=1, MASTER_ADDR="127.0.0.1")
TRAIN = """
    import torch, torch.distributed as dist
    dist.init_process_group("gloo")
    dist.barrier()
    dist.destroy_process_group()
"""
# As ddtrace-run does it.
TRACER = """
import importlib.machinery, importlib.util, os, sys
print("the tracer s")
here = os.path.dirname(__file__)
spec = importlib.machinery.PathFinder.find_spec("sitecustomize", [path for path in sys.path if path != here])
if spec:
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
"""


def folder_with(**files):
    """A directory with the given modules."""
    folder = harness.tempfile.mkdtemp(dir=harness._folder)
    for name, text in files.items():
        with open("%s/%s.py" % (folder, name), "w") as file:
            file.write(text)
    return folder


def pythons():
    """Those named in SAFELAUNCH_TEST_PYTHONS, with colons between; else this one."""
    named = os.environ.get("SAFELAUNCH_TEST_PYTHONS", "").split(":")
    return [python for python in named if python] or [sys.executable]


class Doors(harness.HookTest):
    def names(self, text, options=(), **variables):
        with Collector() as collector:
            env = harness.environment(collector, MASTER_PORT=harness.free_port(), **dict(ALONE, **variables))
            result = harness.run([sys.executable] + list(options) + [harness.script(text)], env)
            self.assert_ended_well(result)
            self.assert_no_fault(collector.drained())
            self.result = result
            return [worker.names() for worker in collector.workers]

    def test_a_foreign_sitecustomize_behind_ours_runs_under_its_own_name(self):
        foreign = folder_with(sitecustomize="print('foreign'); import sys; sys.foreign = __name__")
        names = self.names("import sys, sitecustomize; print(sys.foreign, sitecustomize.__file__)",
                           PYTHONPATH=harness.HOOK + ":" + foreign)
        self.assertEqual(self.result.out, "foreign\nsitecustomize %s/sitecustomize.py\n" % foreign)
        self.assertEqual(names, [["start", "exit"]])

    def test_a_tracer_that_runs_the_next_sitecustomize_itself_runs_each_once_before_ours_and_behind(self):
        tracer = folder_with(sitecustomize=TRACER)
        users = folder_with(sitecustomize="print('the user s')")
        for path in ([tracer, harness.HOOK, users], [harness.HOOK, tracer, users]):
            with self.subTest(path=path):
                names = self.names("print('main')", PYTHONPATH=":".join(path))
                self.assertEqual(self.result.out, "the tracer s\nthe user s\nmain\n")
                self.assertEqual(names, [["start", "exit"]])

    @torch_at_hand.needs(torch_at_hand.entry_points_of_backends)
    def test_a_foreign_sitecustomize_before_ours_leaves_torchs_door_open(self):
        foreign = folder_with(sitecustomize="print('foreign')")
        names, = self.names(TRAIN, PYTHONPATH=":".join([foreign, harness.HOOK, harness.TORCH_DOOR]))
        self.assertEqual(self.result.out, "foreign\n")
        self.assertEqual((names[0], names[-2], names[-1]), ("imported", "coll.done", "exit"))

    def test_no_package_of_ours_is_listed_where_the_first_door_is_open(self):
        self.names("""
            import importlib.metadata, subprocess, sys
            listed = [one.metadata["Name"] for one in importlib.metadata.distributions()]
            listed += subprocess.check_output([sys.executable, "-m", "pip", "freeze"], text=True).split()
            listed += [point.value for point in importlib.metadata.entry_points(group="torch.backends")]
            print([name for name in listed if "safelaunch" in name], len(listed) > 1)
        """)
        self.assertEqual(self.result.out, "[] True\n")

    def test_without_torchs_door_the_import_is_watched(self):
        names, = self.names(TRAIN, TORCH_DEVICE_BACKEND_AUTOLOAD=0)
        self.assertEqual((names[:2], names[-2:]), (["start", "imported"], ["coll.done", "exit"]))

    def test_a_look_whether_torch_is_there_leaves_its_import_watched(self):
        names, = self.names("import importlib.util\nassert importlib.util.find_spec('torch').loader\n"
                            + textwrap.dedent(TRAIN) + "print(vars(torch.__spec__.loader).keys())",
                            TORCH_DEVICE_BACKEND_AUTOLOAD=0)
        self.assertEqual((names[:2], names[-2:]), (["start", "imported"], ["coll.done", "exit"]))
        self.assertEqual(self.result.out, "dict_keys(['name', 'path'])\n")

    def test_an_import_that_has_failed_is_watched_when_it_is_tried_again(self):
        folder = folder_with(jax="import sys\nif not hasattr(sys, 'again'): raise ImportError('the first time')")
        names = self.names("""
            import sys
            try:
                import jax
            except ImportError as error:
                sys.again = print(error)
            import jax
        """, PYTHONPATH=harness.HOOK + ":" + folder)
        self.assertEqual((self.result.out, names), ("the first time\n", [["start", "imported", "exit"]]))

    def test_a_spec_that_was_looked_up_can_be_used_as_without_us(self):
        names = self.names("""
            import importlib.util, sys
            spec = importlib.util.find_spec("jax")
            aside = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(aside)
            spec.loader.exec_module(aside)
            assert aside.text == "its own" and "jax" not in sys.modules
            import jax
            assert jax is not aside and vars(jax.__spec__.loader) == vars(spec.loader)
        """, PYTHONPATH=harness.HOOK + ":" + folder_with(jax="text = 'its own'"))
        self.assertEqual(names, [["start", "imported", "exit"]])

    def test_a_finder_that_asks_all_finders_for_the_name_again_finds_an_end(self):
        names = self.names("""
            import importlib.util, sys
            class Asks:
                asked = 0
                def find_spec(self, name, path=None, target=None):
                    if name != "jax" or self.asked == 5:
                        return None
                    self.asked += 1
                    return importlib.util.find_spec(name)
            sys.meta_path.insert(1, Asks())
            import jax
            assert jax.text == "its own"
        """, PYTHONPATH=harness.HOOK + ":" + folder_with(jax="text = 'its own'"))
        self.assertEqual(names, [["start", "imported", "exit"]])

    def test_a_library_that_is_not_there_is_no_fault(self):
        names = self.names("""
            import sys
            sys.path[:] = [entry for entry in sys.path if "site-packages" not in entry]
            try:
                import jax
            except ImportError as error:
                assert error.name == "jax"
        """)
        self.assertEqual(names, [["start", "exit"]])

    def test_several_hook_directories_end_with_the_foreign_one(self):
        copy = harness._folder + "/copy"
        if not os.path.exists(copy):
            harness.shutil.copytree(harness.HOOK, copy)
            os.symlink(harness.HOOK, harness._folder + "/link")
        foreign = folder_with(sitecustomize="print('foreign')")
        path = ":".join([harness.HOOK, copy, harness._folder + "/link", foreign])
        self.assertEqual(self.names("pass", PYTHONPATH=path), [["start", "exit"]])
        self.assertEqual(self.result.out, "foreign\n")

    def test_a_foreign_sitecustomize_that_fails_says_so_as_it_does_alone(self):
        foreign = folder_with(sitecustomize="raise ValueError('its own')")
        names = self.names("print('runs')", PYTHONPATH=harness.HOOK + ":" + foreign)
        self.assertIn("ValueError: its own", self.result.err)
        self.assertEqual((self.result.out, names), ("runs\n", [["start", "exit"]]))

    def test_an_isolated_interpreter_has_no_hook_and_runs(self):
        for option in ("-I", "-E"):
            self.assertEqual(self.names("print('runs')", [option]), [])
            self.assertEqual(self.result.out, "runs\n")

    def test_a_safe_path_keeps_the_hook(self):
        for option in ("-s", "-P" if sys.version_info >= (3, 11) else "-B"):
            self.assertEqual(self.names("pass", [option]), [["start", "exit"]])

    def test_without_safelaunch_in_the_environment_the_hook_does_nothing(self):
        text = "import sys; print([name for name in sys.modules if name.startswith('_safelaunch_hook.')])"
        result = harness.python(harness.script(text), harness.environment())
        self.assertEqual((result.code, result.out), (0, "['_safelaunch_hook.chain']\n"))

    def test_a_broken_script_is_as_broken_as_without_us(self):
        path = harness.script("def f(:\n")
        with Collector() as collector:
            watched = harness.python(path, harness.environment(collector))
        alone = harness.python(path, harness.environment(PYTHONPATH=None))
        self.assertEqual((watched.code, watched.err), (alone.code, alone.err))

    def test_the_start_imports_nothing_that_costs(self):
        names = self.names("import sys; print([name for name in ('json', 'socket', 're', 'threading', 'inspect', "
                           "'traceback', 'datetime') if name in sys.modules])")
        alone = harness.python(harness.script("import sys; print([name for name in ('json', 'socket', 're', "
                                              "'threading', 'inspect', 'traceback', 'datetime') if name in sys.modules])"),
                               harness.environment(PYTHONPATH=None))
        self.assertEqual(self.result.out, alone.out)
        self.assertEqual(names, [["start", "exit"]])

    def test_the_programs_wish_for_no_compiled_files_is_kept(self):
        folder = folder_with(own="")
        self.names("import sys, own; print(sys.dont_write_bytecode)", PYTHONDONTWRITEBYTECODE=1,
                   PYTHONPATH=harness.HOOK + ":" + folder)
        self.assertEqual(self.result.out, "True\n")
        self.assertEqual(os.listdir(folder), ["own.py"])

    def test_faulthandler(self):
        self.names("import faulthandler; print(faulthandler.is_enabled())",
                   SAFELAUNCH_FAULTHANDLER=1, PYTHONFAULTHANDLER=None)
        self.assertEqual(self.result.out, "True\n")

    def test_fetching_the_loader_of_a_watched_module_gives_the_loader_as_it_was(self):
        self.names("import torch; print(vars(torch.__spec__.loader).keys())")
        self.assertEqual(self.result.out, "dict_keys(['name', 'path'])\n")


class OtherPythons(harness.HookTest):
    """Every Python that a command might start."""

    def test_each_starts_reports_and_chains(self):
        foreign = folder_with(sitecustomize="import sys; sys.stdout.write('foreign\\n')")
        for python in pythons():
            with self.subTest(python), Collector() as collector:
                env = harness.environment(collector, RANK=0, PYTHONPATH=harness.HOOK + ":" + foreign)
                version = subprocess.run([python, "-c", "import sys; print(sys.version_info[0:2] >= (3, 6))"],
                                         stdout=subprocess.PIPE, env=env, universal_newlines=True).stdout
                result = harness.run([python, "-c", "print('runs')"], env)
                self.assertEqual((result.code, result.out, result.err), (0, "foreign\nruns\n", ""))
                if version.endswith("True\n"):
                    collector.drained()
                    self.assertEqual(collector.workers[-1].names(), ["start", "exit"])

    def served(self):
        for python in pythons():
            if subprocess.call([python, "-c", "import sys; sys.exit(sys.version_info < (3, 6))"]) == 0:
                yield python

    def test_a_rank_without_torch_is_as_single_threaded_as_without_us(self):
        text = """
            import os, sys
            print(len(os.listdir("/proc/self/task")))
            sys.stdout.flush()
            child = os.fork()
            if child == 0:
                os._exit(0)
            os.waitpid(child, 0)
        """
        for python in self.served():
            with self.subTest(python), Collector() as collector:
                result = harness.run([python, harness.script(text)], harness.environment(collector, RANK=0))
                self.assertEqual((result.code, result.out, result.err), (0, "1\n", ""))
                self.assertEqual(collector.drained().workers[-1].names(), ["start", "exit"])

    def test_each_answers_from_the_beginning_of_torchs_import(self):
        path = harness.HOOK + ":" + folder_with(torch="import sys; sys.stdin.readline(); raise SystemExit(0)")
        for python in self.served():
            with self.subTest(python), Collector() as collector:
                env = harness.environment(collector, RANK=0, PYTHONPATH=path)
                process = subprocess.Popen([python, harness.script("import torch")], env=env, stdin=subprocess.PIPE)
                try:
                    frames = collector.wait_for_worker("start").ask("stack")["threads"][0]["frames"]
                    self.assertRegex(frames[0], r"train\.py:1 <module>$")
                finally:
                    process.communicate(b"\n")
                self.assert_no_fault(collector.drained())


if __name__ == "__main__":
    harness.main("torch")
