"""own_folders.py gives each test a home, XDG folders and temporary files of its own."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(__file__).resolve().parents[1] / "own_folders.py"

TELLS = '''
import json, os, pathlib, sys, tempfile
home, temporary = os.path.expanduser("~"), tempfile.gettempdir()
print(json.dumps({"home": home, "tmp": temporary, "empty": os.listdir(home) + os.listdir(temporary), "environment": dict(os.environ),
                  "modes": [oct(pathlib.Path(path).stat().st_mode & 0o7777) for path in (pathlib.Path(home).parent, temporary)]}))
pathlib.Path(home, "left").write_text("")
sys.exit(int(sys.argv[1]))
'''


class TestOwnFolders(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "tells.py").write_text(TELLS)
        (self.folder / "home/.config/pip").mkdir(parents=True)
        (self.folder / "home/.config/pip/pip.conf").write_text("")

    def run_test(self, status=0, **more):
        keep = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "PIP_", "CCACHE_", "SAFELAUNCH_"))}
        environment = {**keep, "HOME": str(self.folder / "home"), "TMPDIR": str(self.folder), "XDG_STATE_HOME": "/state", **more}
        done = subprocess.run([sys.executable, PROGRAM, self.folder / "tells.py", str(status)], env=environment,
                              capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (status, ""))
        return json.loads(done.stdout)

    def test_two_tests_have_other_folders_and_both_are_removed(self):
        first, second = self.run_test(), self.run_test()
        self.assertEqual(len({first["home"], second["home"], first["tmp"], second["tmp"], str(self.folder)}), 5)
        self.assertEqual(first["empty"] + second["empty"], [])
        self.assertEqual({path.name for path in self.folder.iterdir()}, {"tells.py", "home"})

    def test_no_xdg_folder_of_the_person_remains(self):
        self.assertEqual([name for name in self.run_test()["environment"] if name.startswith("XDG_")], [])

    def test_another_user_reaches_what_lies_below(self):
        self.assertEqual(self.run_test()["modes"], ["0o755", "0o1777"])

    def test_a_socket_below_the_temporary_folder_keeps_its_room(self):
        self.assertLess(len(self.run_test()["tmp"]) - len(str(self.folder)), 20)

    def test_what_takes_long_to_make_is_shared(self):
        environment = self.run_test()["environment"]
        home = self.folder / "home"
        self.assertEqual({name: environment[name] for name in ("SAFELAUNCH_TEST_CACHE", "PIP_CACHE_DIR", "CCACHE_DIR", "PIP_CONFIG_FILE")},
                         {"SAFELAUNCH_TEST_CACHE": str(self.folder), "PIP_CACHE_DIR": str(home / ".cache/pip"),
                          "CCACHE_DIR": str(home / ".cache/ccache"), "PIP_CONFIG_FILE": str(home / ".config/pip/pip.conf")})

    def test_a_cache_that_the_person_names_stays(self):
        self.assertEqual(self.run_test(CCACHE_DIR="/warm", XDG_CACHE_HOME="/else")["environment"]["CCACHE_DIR"], "/warm")

    def test_the_status_is_the_tests_own(self):
        self.run_test(status=77)


if __name__ == "__main__":
    unittest.main(verbosity=2)
