"""`safelaunch status --watch` as a terminal shows it: the bytes are played into a terminal emulator."""

import contextlib
import pathlib
import signal
import subprocess

import pyte

from harness import SAFELAUNCH, SafelaunchTest, main, wait_until
from terminal import Terminal

REFRESHED = b"\x1b[J"  # the end of each screen
LEFT = b"\x1b[?25h\x1b[?1049l"


class AWatchedScreen(SafelaunchTest):
    @contextlib.contextmanager
    def job(self):
        with subprocess.Popen([SAFELAUNCH, "sh", "-c", "echo up; exec sleep 1000"], env=self.environment(), cwd=self.folder, text=True,
                              stdout=subprocess.PIPE) as job:
            try:
                self.assertEqual(job.stdout.readline(), "up\n")
                yield
            finally:
                job.terminate()

    def watch(self, columns, rows):
        return Terminal([SAFELAUNCH, "status", "--watch"], columns, rows, env=self.environment(TERM="xterm"), cwd=self.folder)

    def shown(self, terminal, columns, rows):
        screen = pyte.Screen(columns, rows)
        pyte.ByteStream(screen).feed(terminal.output[:terminal.output.rindex(REFRESHED)])
        return [line.rstrip() for line in screen.display]

    def test_it_is_drawn_in_place_at_any_width_and_the_terminal_is_given_back(self):
        for columns, rows in ((60, 20), (80, 24), (200, 5)):
            with self.subTest(columns=columns), self.job():
                terminal = self.watch(columns, rows)
                terminal.read_until(REFRESHED, times=2)
                lines = self.shown(terminal, columns, rows)
                self.assertRegex(lines[0], r"^\d{8}-\d{6}-\w{6}  pid \d+  attempt 1 basic", lines)
                self.assertIn("sh -c", lines[1], lines)
                self.assertNotIn("^[", "\n".join(lines))
                terminal.press_ctrl_c()
                self.assertEqual(terminal.close(), 0)
                self.assertTrue(terminal.output.endswith(LEFT), terminal.output[-80:])

    def test_a_new_width_is_drawn_at_once_and_more_rows_than_there_are_are_counted(self):
        with self.job():
            terminal = self.watch(80, 24)
            terminal.read_until(REFRESHED)
            terminal.resize(40, 2)
            terminal.read_until(" lines more".encode())
            terminal.read_until_after(len(terminal.output), REFRESHED)
            lines = self.shown(terminal, 40, 2)
            self.assertRegex(lines[1], r"^… \d+ lines more$", lines)
            terminal.press_ctrl_c()
            self.assertEqual(terminal.close(), 0)

    def test_while_ctrl_z_holds_it_the_terminal_is_the_shells(self):
        terminal = self.watch(80, 24)
        terminal.read_until(REFRESHED)
        terminal.type(b"\x1a")
        terminal.read_until(LEFT)
        wait_until(lambda: f"{terminal.process.pid} (safelaunch) T" in pathlib.Path(f"/proc/{terminal.process.pid}/stat").read_text())
        before = len(terminal.output)
        terminal.process.send_signal(signal.SIGCONT)
        terminal.read_until_after(before, REFRESHED)
        terminal.process.terminate()
        self.assertEqual(terminal.close(), 128 + signal.SIGTERM)
        self.assertTrue(terminal.output.endswith(LEFT), terminal.output[-80:])


if __name__ == "__main__":
    main()
