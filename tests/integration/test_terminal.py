"""Programs that ask a person, at a true terminal: the question is answered, and the keys are the program's, as without safelaunch."""

import json
import os
import shutil
import signal
import sys
import termios

from harness import SAFELAUNCH, SafelaunchTest, children_of, main, torchrun, wait_until
from terminal import Terminal

PYTHON = sys.executable
CURSES = ("import curses\ndef ask(screen):\n  screen.addstr('key? '); screen.refresh(); return screen.getkey()\n"
          "print('got', curses.wrapper(ask))")
RAW = ("import sys, termios, tty\nmodes = termios.tcgetattr(0); tty.setraw(0); print('key? ', end='', flush=True)\n"
       "key = sys.stdin.read(1); termios.tcsetattr(0, termios.TCSANOW, modes); print('got', repr(key))")

# As torchrun starts its ranks.
APART = "import subprocess\nsubprocess.run(['sh', '-c', 'printf \"name? \"; read x; echo got $x'], start_new_session=True, check=True)"

FG_ONCE_STOPPED = "while ! jobs -s | grep -q Stopped; do sleep 0.01; done; fg"
# A read in the background would not stop it: it fails, or is tried again for ever.
DEAF = "import os, signal, time\n{}\nwhile os.tcgetpgrp(0) != os.getpgrp(): time.sleep(0.01)\nprint('got', input('name? '))"

LINE_IS_WHOLE = 400  # columns: readline breaks what is typed, and a test looks for it

# name: the command; what is typed once a text is there; what the screen shows at the end
PROGRAMS = {
    "read": (["sh", "-c", "printf 'name? ' >/dev/tty; read x </dev/tty; echo got $x"], [("name? ", "joe\n")], "got joe"),
    "read without stdin": (["sh", "-c", "exec </dev/null; printf 'name? ' >/dev/tty; read x </dev/tty; echo got $x"],
                           [("name? ", "joe\n")], "got joe"),
    "two that ask": (["sh", "-c", "printf 'a? '; read a; sh -c 'printf \"b? \" >/dev/tty; read b </dev/tty; echo $b'; echo got $a"],
                     [("a? ", "1\n"), ("b? ", "2\n")], "2\r\ngot 1"),
    "read -s": (["bash", "-c", "read -s -p 'word? ' x; echo; echo got $x"], [("word? ", "hush\n")], "got hush"),
    "select": (["bash", "-c", "select x in one two; do echo got $x; break; done"], [("#? ", "2\n")], "got two"),
    "below timeout": (["timeout", "100", "sh", "-c", "printf 'name? ' >/dev/tty; read x </dev/tty; echo got $x"],
                      [("name? ", "joe\n")], "got joe"),
    "a session of its own": ([PYTHON, "-c", APART], [("name? ", "joe\n")], "got joe"),
    "cat": (["sh", "-c", "echo ready; cat"], [("ready", "line\n"), ("line\r\nline", "\x04")], "line"),
    "input": ([PYTHON, "-c", "print('got', input('name? '))"], [("name? ", "joe\n")], "got joe"),
    **{name: ([PYTHON, "-c", DEAF.format(way)], [("name? ", "joe\n")], "got joe") for name, way in {
        "input that ignores the stop": "signal.signal(signal.SIGTTIN, signal.SIG_IGN)",
        "input that blocks the stop": "signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())",
        "input that handles the stop": "signal.signal(signal.SIGTTIN, lambda *_: None)"}.items()},
    "getpass": ([PYTHON, "-c", "import getpass; print('got', getpass.getpass('word? '))"], [("word? ", "hush\n")], "got hush"),
    "raw keys": ([PYTHON, "-c", RAW], [("key? ", "\x03")], r"got '\x03'"),
    "curses": ([PYTHON, "-c", CURSES], [("key? ", "x")], "got x"),
    # Python sleeps through a signal that comes right before its select(): the line's end wakes it.
    "Python": ([PYTHON, "-i", "-q", "-c", "pass"],
               [(">>> ", "40+2\n"), ("42\r\n>>> ", "wrong"), ("wrong", "\x03\n"), ("KeyboardInterrupt\r\n>>> ", "print('al' 'ive')\n"), ("alive", "exit()\n")], "alive"),
    "a shell's job control": (["bash", "--norc", "-i"],
                              [("$ ", "sh -c 'echo u''p; exec sleep 1000'\n"), ("up", "\x1a"), ("Stopped", "kill %1; fg; echo do''ne\n"), ("done", "exit\n")],
                              "Terminated"),
    "less": (["sh", "-c", "seq 500 | less; echo ended $?"], [("\n20", "G"), ("500", "q")], "ended 0"),
    "more": (["sh", "-c", "seq 500 > many; more many; echo ended $?"], [("--More--", "q")], "ended 0"),
    "vi": (["sh", "-c", "vi -u NONE -N text; cat text"], [("~", "iwritten\x1b:wq\r")], "written\r\n"),
    "nano": (["sh", "-c", "nano text; cat text"], [("GNU nano", "written"), ("written", "\x0f"), ("Name to Write", "\r"), ("Wrote", "\x18")],
             "written\r\n"),
    "ssh-keygen": (["ssh-keygen", "-q", "-t", "ed25519", "-f", "key"], [("passphrase", "\n"), ("again", "\n")], "again"),
    "gdb": (["gdb", "-q", "-nx"], [("(gdb)", "print 40+2\n"), ("$1 = 42", "quit\n")], "42"),
    "script": (["script", "-q", "-c", "printf 'name? '; read x; echo got $x", "/dev/null"], [("name? ", "joe\n")], "got joe"),
    "fzf": (["sh", "-c", "seq 20 | fzf"], [("20/20", "17"), ("1/20", "\r")], "17"),
    "dialog": (["dialog", "--yesno", "really?", "8", "40"], [("really?", "\r")], "really?"),
}


def needed(words):
    """The programs without which this row means nothing."""
    text = " ".join(words)
    return [name for name in ("bash", "less", "more", "vi", "nano", "ssh-keygen", "gdb", "script", "fzf", "dialog", "timeout")
            if name in text.replace(";", " ").split() or words[0] == name]


class AtATerminal(SafelaunchTest):
    def terminal(self, *words, **options):
        folder = self.folder / f"at-{len(list(self.folder.iterdir()))}"
        folder.mkdir()
        env = self.environment(TERM="xterm", PS1="$ ", HISTFILE="", PAGER="cat")
        return Terminal(words, env=env, cwd=folder, **options)

    def answered(self, words, steps):
        """Its status and all that its terminal has shown."""
        terminal, seen = self.terminal(*words), 0
        for text, keys in steps:
            terminal.read_until_after(seen, text.encode())
            seen = len(terminal.output)
            terminal.type(keys.encode())
        return terminal.close(60), terminal.output.decode(errors="replace")

    def test_whoever_asks_is_answered_as_without_us(self):
        for name, (words, steps, expected) in PROGRAMS.items():
            if not all(map(shutil.which, needed(words))):
                continue
            with self.subTest(name):
                bare, _ = self.answered(words, steps)
                status, screen = self.answered([SAFELAUNCH, "--", *words], steps)
                self.assertEqual(status, bare, screen)
                self.assertIn(expected, screen)

    def test_what_was_typed_before_the_job_reads_is_read_to_its_end(self):
        for keys, expected in ((b"1\n2\n\x04", b"2\r\n1\r\n"), (b"1\n2\x04\x04", b"21\r\n")):
            with self.subTest(keys):
                typed = self.folder / "typed"
                terminal = self.terminal(SAFELAUNCH, "--", "sh", "-c", f"echo ready; until [ -e {typed} ]; do sleep 0.01; done; exec tac")
                terminal.read_until(b"ready")
                terminal.type(keys)
                typed.touch()
                self.assertEqual(terminal.close(60), 0, terminal.output)
                self.assertIn(expected, bytes(terminal.output))
                typed.unlink()

    def test_whoever_inherits_a_stop_that_is_ignored_may_ask_at_once(self):
        for ask in ["read x; echo got $x", "exec python3 -c 'print(\"got\", input())'"]:
            with self.subTest(ask):
                words = ["bash", "-c", 'trap "" TTIN TTOU; exec "$@"', "bash", SAFELAUNCH, "--", "bash", "-c", f"printf 'name? '; {ask}"]
                status, screen = self.answered(words, [("name? ", "joe\n")])
                self.assertEqual(status, 0, screen)
                self.assertIn("got joe", screen)

    def until_the_prompt_behind(self, shell, text):
        """What is typed before it may still be the job's."""
        shell.read_until(text)
        shell.read_until_after(shell.output.index(text), b"$ ")

    def answer(self, shell, behind):
        """Once the shell has shown the command so often: as it was typed, stopped, and in front again."""
        shell.read_until(b"got $a'", times=behind)
        shell.type(b"one\n")
        self.until_the_prompt_behind(shell, b"got one")
        shell.type(b"exit\n")
        self.assertEqual(shell.close(), 0)

    def test_ctrl_z_stops_a_program_that_has_the_keys_and_fg_gives_them_back(self):
        shell = self.terminal("bash", "--norc", "-i", columns=LINE_IS_WHOLE)
        asks = f"{SAFELAUNCH} sh -c 'read a; echo got $a; read b; echo then $b'"
        shell.type(f"{asks}; echo en''ded\n".encode())
        shell.read_until(b"then $b'")
        shell.type(b"one\n")
        shell.read_until(b"got one")
        shell.type(b"\x1a")
        shell.read_until(b"Stopped")
        shell.type(b"echo the sh''ell; fg\n")
        shell.read_until(b"the shell")
        shell.read_until(b"then $b'", times=3)
        shell.type(b"two\n")
        self.until_the_prompt_behind(shell, b"then two")
        shell.type(b"exit\n")
        self.assertEqual(shell.close(), 0)

    def test_in_the_background_of_a_shell_whoever_asks_is_stopped_until_fg(self):
        shell = self.terminal("bash", "--norc", "-i", columns=LINE_IS_WHOLE)
        shell.type(f"{SAFELAUNCH} sh -c 'echo rea''dy; while ! [ -e go ]; do sleep 0.01; done; read a; echo got $a'\n".encode())
        shell.read_until(b"ready")
        shell.type(b"\x1a")
        shell.read_until(b"Stopped")
        shell.type(f"bg; touch go; {FG_ONCE_STOPPED}\n".encode())
        self.answer(shell, behind=5)

    def test_who_is_started_in_the_background_of_a_shell_is_stopped_as_it_asks_until_fg(self):
        shell = self.terminal("bash", "--norc", "-i", columns=LINE_IS_WHOLE)
        shell.type(f"{SAFELAUNCH} sh -c 'read a; echo got $a' & {FG_ONCE_STOPPED}\n".encode())
        self.answer(shell, behind=3)

    def test_ctrl_c_is_for_the_job_that_a_shell_inside_has_in_front(self):
        shell = self.terminal(SAFELAUNCH, "bash", "--norc", "-i", columns=LINE_IS_WHOLE)
        shell.type(b"sh -c 'echo slee''ping; exec sleep 1000'\n")
        shell.read_until(b"sleeping")
        shell.press_ctrl_c()
        shell.type(b"echo ended with $?\n")
        shell.read_until(b"ended with 130")
        shell.type(b"exit 5\n")
        self.assertEqual(shell.close(), 5)

    def test_ctrl_c_behind_an_answered_question_is_told_to_us_first(self):
        directory = self.folder / "run"
        terminal = self.terminal(SAFELAUNCH, "--run-dir", str(directory), PYTHON, "-c", "import time\ninput('go? ')\nprint('going', flush=True)\ntime.sleep(1000)")
        terminal.read_until(b"go? ")
        terminal.type(b"yes\n")
        terminal.read_until(b"going")
        terminal.press_ctrl_c()
        self.assertEqual(terminal.close(), 130)
        events = [json.loads(line) for line in (directory / "events.jsonl").read_text().splitlines()]
        self.assertIn("SIGINT", [event["signal"] for event in events if event["e"] == "signal"])

    def test_ctrl_c_at_the_question_of_a_rank_is_no_ranks_failure(self):
        directory = self.folder / "run"
        asks = self.script("import os, time\nif os.environ['RANK'] == '0': input('go? ')\ntime.sleep(1000)\n")
        terminal = self.terminal(SAFELAUNCH, "--run-dir", str(directory), *torchrun("--nproc_per_node=2", asks))
        terminal.read_until(b"go? ")
        terminal.press_ctrl_c()
        self.assertEqual(terminal.close(), 130)
        self.assertNotIn(b"failed first", terminal.output)
        (attempt,) = json.loads((directory / "outcome.json").read_text())["attempts"]
        self.assertEqual(attempt["end"], "interrupted")

    def test_the_modes_of_the_terminal_come_back_whichever_half_is_killed(self):
        for half in ("guardian", "supervisor"):
            with self.subTest(half):
                terminal = self.terminal("sh", "-c", f"{SAFELAUNCH} {PYTHON} -c \"input('name? ')\"; echo ended; cat")
                before = termios.tcgetattr(terminal.master)
                terminal.read_until(b"name? ")
                wait_until(lambda: termios.tcgetattr(terminal.master)[3] != before[3], what="the keys to be the job's")
                guardian, = children_of(terminal.process.pid)
                supervisor, = children_of(guardian)
                os.kill(guardian if half == "guardian" else supervisor, signal.SIGKILL)
                terminal.read_until(b"ended")
                wait_until(lambda: termios.tcgetattr(terminal.master) == before, what="the modes as before")
                terminal.type(b"\x04")
                terminal.close()


if __name__ == "__main__":
    main(needs=())
