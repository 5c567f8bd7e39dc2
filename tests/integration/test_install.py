"""What `cmake --install` copies works by itself, from another place than the build."""

import os
import pathlib
import shutil
import subprocess
import sys
import tomllib

from harness import ROOT, SAFELAUNCH, SafelaunchTest, main

BUILD = pathlib.Path(SAFELAUNCH).parents[2]
WHOLE = ["bin/safelaunch", "bin/safelaunch-probe", "share/man/man1/safelaunch.1", "share/bash-completion/completions/safelaunch",
         "share/zsh/site-functions/_safelaunch", "share/fish/vendor_completions.d/safelaunch.fish",
         "share/doc/safelaunch/README.md", "share/doc/safelaunch/docs/safety.md", "share/doc/safelaunch/profiles/basic.yaml"]
PLUGIN = "lib*/**/safelaunch/libsafelaunch-nccl.so"


class Install(SafelaunchTest):
    def installed(self):
        prefix = pathlib.Path(self.folder) / "prefix"
        subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], check=True, capture_output=True, timeout=120)
        return prefix

    def run_installed(self, *words, **more):
        return subprocess.run([str(word) for word in words], env=self.environment(**more), cwd=self.folder, capture_output=True,
                              text=True, timeout=120)

    def test_all_is_there_and_runs_two_workers(self):
        prefix = self.installed()
        self.assertEqual([path for path in WHOLE if not (prefix / path).is_file()], [])
        self.assertTrue(list(prefix.glob(PLUGIN)))
        worker = self.script("import os; print('rank', os.environ['RANK'], 'of', os.environ['WORLD_SIZE'])", "worker.py")
        done = self.run_installed(prefix / "bin/safelaunch", "--nproc-per-node", 2, "--", sys.executable, worker)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("rank 0 of 2", done.stdout)
        self.assertIn("rank 1 of 2", done.stdout)

    def test_the_sdist_has_the_sources_that_are_left_out_for_their_name(self):
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())
        named = {file for pattern in project["tool"]["scikit-build"]["sdist"]["include"] for file in ROOT.glob(pattern)}
        sources = set(ROOT.glob("launcher/**/*.dist-info/*"))
        self.assertTrue(sources)
        self.assertEqual(sources - named, set())

    def test_the_python_package_becomes_the_executable(self):
        prefix = self.installed()
        shutil.copytree(ROOT / "python/safelaunch", prefix / "safelaunch")  # as pip install --target leaves it
        done = self.run_installed(sys.executable, "-m", "safelaunch", "version", PYTHONPATH=str(prefix))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.startswith("safelaunch "), done.stdout)

    def test_the_python_package_says_where_it_looked_for_the_executable(self):
        lone = pathlib.Path(self.folder) / "lone"
        shutil.copytree(ROOT / "python/safelaunch", lone / "safelaunch")
        done = self.run_installed(sys.executable, "-m", "safelaunch", "version", PYTHONPATH=str(lone))
        self.assertEqual(done.returncode, 127)
        self.assertIn(os.path.join(lone, "bin"), done.stderr)


if __name__ == "__main__":
    main(needs=())
