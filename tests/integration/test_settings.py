"""Where settings come from: the files of host, user and folder as layers, locks, and the verb that shows and checks them."""

import json
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from harness import SAFELAUNCH, SafelaunchTest, main
from own_mounts import own_mounts

HOST = pathlib.Path("/etc/safelaunch/safelaunch.yaml")


def setUpModule():
    """An /etc of the tests' own: a copy, in which they may write."""
    if not own_mounts():
        raise unittest.SkipTest("an /etc of our own needs the right to mount")
    etc = pathlib.Path(tempfile.mkdtemp(prefix="safelaunch-test-etc-"))
    unittest.addModuleCleanup(shutil.rmtree, etc, ignore_errors=True)
    subprocess.run(["cp", "-a", "/etc/.", str(etc)], check=True)
    subprocess.run(["mount", "--bind", str(etc), "/etc"], check=True)


class Settings(SafelaunchTest):
    def setUp(self):
        super().setUp()
        shutil.rmtree(HOST.parent, ignore_errors=True)
        self.addCleanup(shutil.rmtree, HOST.parent, ignore_errors=True)

    def environment(self, **more):
        return super().environment(**{"XDG_CONFIG_HOME": str(self.folder / "config"), **more})

    def write(self, path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o644)
        return str(path)

    def host(self, text):
        return self.write(HOST, text)

    def user(self, text):
        return self.write(self.folder / "config/safelaunch/safelaunch.yaml", text)

    def here(self, text):
        return self.write(self.folder / "safelaunch.yaml", text)

    def say(self, *words, status=0, **environment):
        done = subprocess.run([SAFELAUNCH, *words], env=self.environment(**environment), cwd=self.folder, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=60)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def plan(self, *words):
        return json.loads(self.say(*words, "--dry-run", "--json", "true").stdout)

    def test_a_folders_file_leaves_the_hosts_cluster_rule_alone(self):
        host = self.host("clusters:\n  - name: lab\n    match: {hostname: '.*'}\n    env: {NCCL_SOCKET_IFNAME: eth0}\n    chain: [no-ib]\n")
        self.say("init", "--yes")
        plan = self.plan()
        self.assertEqual(plan["cluster"], "lab")
        self.assertEqual(plan["chain"][0]["environment"]["NCCL_SOCKET_IFNAME"], "eth0")
        self.assertEqual(plan["chain"][0]["origins"]["NCCL_SOCKET_IFNAME"], f"{host}:4:31")
        self.assertRegex(plan["chain_from"], r"^safelaunch\.yaml:\d+:\d+$")  # the nearer file says a chain of its own

    def test_a_dry_run_shows_the_file_and_line_of_each_value(self):
        host, user = self.host("options: {grace: 5s, keep-runs: 9}\n"), self.user("chain: [no-shm]\n")
        asked = self.write(self.folder / "asked.yaml", "options:\n  grace: 7s\nenv:\n  FOO: bar\n")
        shown = self.say("--config", asked, "--dry-run", "true").stdout
        for line in (f"option    --grace 7s  ({asked}:2:10)\n", f"option    --keep-runs 9  ({host}:1:33)\n", f"chain     from {user}:1:8, ",
                     f"FOO=bar  ({asked}:4:8)\n"):
            self.assertIn(line, shown)

    def test_a_locked_key_is_refused_in_a_users_file_and_passed_over_in_a_folders(self):
        host, user = self.host("chain: [basic]\nlock: [chain]\n"), self.user("chain: [no-shm]\n")
        self.assertEqual(self.say("true", status=78).stderr, f"safelaunch: {user}:1:1: chain is locked by {host}:2:8\n")
        pathlib.Path(user).unlink()
        self.here("chain: [no-shm]\n")
        run = self.say("true")
        self.assertEqual(run.stderr, "safelaunch: warning: ./safelaunch.yaml is passed over: "
                                     f"safelaunch.yaml:1:1: chain is locked by {host}:2:8\n")
        asked = self.say("--config", "safelaunch.yaml", "true", status=78)
        self.assertIn(f"chain is locked by {host}:2:8", asked.stderr)
        self.assertEqual(self.plan("--profile", "no-shm")["chain"][0]["profile"], "no-shm")  # a person may

    def test_a_folders_file_is_noted_once_and_again_when_it_has_changed(self):
        self.here("options: {init-timeout: 60s}\n")
        note = "safelaunch: note: settings from ./safelaunch.yaml\n"
        self.plan()  # tells nothing, so that it remembers nothing
        self.assertEqual([self.say("true").stderr for _ in range(3)], [note, "", ""])
        self.here("options: {init-timeout: 61s}\n")
        self.assertEqual([self.say("true").stderr for _ in range(2)], [note, ""])
        self.here("options: {init-timeout: 60s}\n")
        self.assertEqual(self.say("true").stderr, "")

    def test_a_file_that_init_wrote_makes_no_noise_on_a_healthy_run(self):
        self.say("init", "--yes")
        self.assertEqual([self.say("--nproc-per-node", "1", "true").stderr for _ in range(2)],
                         ["safelaunch: note: settings from ./safelaunch.yaml\n", ""])

    def test_a_quiet_run_is_not_told_so_the_next_is(self):
        self.here("options: {init-timeout: 60s}\n")
        self.assertEqual(self.say("-q", "true").stderr, "")
        self.assertIn("note: settings from ./safelaunch.yaml", self.say("true").stderr)

    def test_what_a_folders_file_may_not_set_is_said_on_each_run(self):
        self.here("env: {LD_PRELOAD: /none.so}\n")
        for _ in range(2):
            self.assertIn("./safelaunch.yaml is passed over: it sets LD_PRELOAD", self.say("true").stderr)

    def test_show_tells_what_holds_and_which_file_said_it(self):
        host = self.host("chain: [no-ib]\nenv: {A: host, TOKEN_KEY: hf_tHe5eCretOfSomebody1234567890abc}\n"
                         "options: {grace: 5s}\nlock: [options.grace]\n")
        user = self.user("env: {A: user}\nunset: [NCCL_ALGO]\n")
        self.here("chain: [no-shm, basic]\n")
        shown = self.say("config", "show", SAFELAUNCH_INIT_TIMEOUT="60s").stdout
        lines = {line.split()[0]: line for line in shown.splitlines()}
        self.assertRegex(lines["chain"], r"no-shm, basic +safelaunch\.yaml:1:8$")
        self.assertRegex(lines["env.A"], rf"user +{user}:1:10$")
        self.assertRegex(lines["env.NCCL_ALGO"], rf"\(taken away\) +{user}$")
        self.assertRegex(lines["options.grace"], rf"5s +{host}:3:18  \(locked\)$")
        self.assertRegex(lines["options.init-timeout"], "60s +SAFELAUNCH_INIT_TIMEOUT$")
        self.assertNotIn("tHe5eCretOfSomebody", shown)
        told = json.loads(self.say("config", "show", "--json").stdout)
        self.assertIn({"key": "chain", "value": "no-shm, basic", "origin": "safelaunch.yaml:1:8", "locked": False}, told["settings"])
        self.assertEqual([file["state"] for file in told["files"]], ["read"] * 3)

    def test_path_lists_the_files_in_order_with_what_becomes_of_each(self):
        self.here("env: {LD_PRELOAD: /none.so}\n")
        user = self.user("cain: [a]\n")
        lines = self.say("config", "path").stdout.splitlines()
        self.assertRegex(lines[0], rf"^{HOST} +not there$")
        self.assertRegex(lines[1], rf"^{user} +refused: {user}:1:1: a config file has no key 'cain'; did you mean 'chain'\?$")
        self.assertRegex(lines[2], r"^safelaunch\.yaml +refused: it sets LD_PRELOAD; ")
        self.host("lock: [env]\n")
        states = {entry["path"]: entry["state"] for entry in json.loads(self.say("config", "path", "--json").stdout)}
        self.assertEqual(states[str(HOST)], "read")

    def test_check_names_the_file_the_line_the_wrong_word_and_the_right_one(self):
        self.assertIn("there is no safelaunch.yaml here", self.say("config", "check").stdout)
        self.here("options:\n  init-timeot: 5s\n")
        for words in (["config", "check"], ["config", "check", "safelaunch.yaml"], ["profiles", "check", "safelaunch.yaml"]):
            self.assertEqual(self.say(*words, status=78).stderr,
                             "safelaunch: safelaunch.yaml:2:3: there is no option 'init-timeot'; did you mean 'init-timeout'?\n")
        self.here("chain: [basic, no-shn]\n")
        self.assertRegex(self.say("config", "check", status=78).stderr, r"safelaunch\.yaml:1:8: .*'no-shn'; did you mean 'no-shm'")
        self.assertIn("there is no such file", self.say("config", "check", "none.yaml", status=78).stderr)
        self.assertIn("did you mean 'check'", self.say("config", "chek", status=64).stderr)

    def test_several_files_are_checked_in_one_call(self):
        good, bad = self.write(self.folder / "a.yaml", "chain: basic\n"), self.write(self.folder / "b.yaml", "chain: basik\n")
        told = self.say("config", "check", bad, good, status=78)
        self.assertIn(f"{bad}:1:8: ", told.stderr)
        self.assertEqual(told.stdout, f"{good}: the settings are good\n")

    def test_check_tells_a_file_that_may_not_lie_in_the_folder_and_a_locked_key(self):
        self.here("env: {LD_PRELOAD: /none.so}\n")
        told = self.say("config", "check", "safelaunch.yaml").stdout
        self.assertIn("note: it sets LD_PRELOAD, so it holds only where somebody names it", told)
        host = self.host("lock: [env]\n")
        refused = self.say("config", "check", "safelaunch.yaml", status=78).stderr
        self.assertIn(f"safelaunch.yaml:1:7: env.LD_PRELOAD is locked by {host}:1:8", refused)
        self.assertIn("the settings are good", self.say("config", "check", host).stdout)

    def test_the_two_kinds_of_file_are_told_apart(self):
        self.say("init", "--yes")
        self.assertIn("safelaunch.yaml: the settings are good\n", self.say("profiles", "check", "safelaunch.yaml").stdout)
        rules = self.write(self.folder / "rules.yaml", "clusters: [{name: lab, match: {hostname: x}}]\n")
        self.assertIn("the settings are good", self.say("profiles", "check", rules).stdout)
        mine = self.write(self.folder / "mine.yaml", "name: mine\nextends: basic\n")
        for verb in ("profiles", "config"):
            self.assertIn("the profile 'mine' is good", self.say(verb, "check", mine).stdout)


if __name__ == "__main__":
    main(needs=())
