"""A terminal of one's own for a test: a command runs in it as a shell's foreground job would."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time


class Terminal:
    """A pseudo-terminal with a session of its own, in which one command runs."""

    def __init__(self, words, columns=97, rows=31, **options):
        self.master, slave = pty.openpty()
        self.resize(columns, rows)
        self.modes = termios.tcgetattr(self.master)  # before the command can change them
        self.output = bytearray()

        def own_session():
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(
            words, **{"stdin": slave, "stdout": slave, "stderr": slave, "preexec_fn": own_session, **options})
        os.close(slave)

    def resize(self, columns, rows):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, keys):
        os.write(self.master, keys)

    def press_ctrl_c(self):
        self.type(b"\x03")

    def read_until(self, text, seconds=60, times=1):
        """Reads until the screen has shown the text (so many times)."""
        end = time.monotonic() + seconds
        while self.output.count(text) < times:
            if not self.read(end - time.monotonic()):
                raise AssertionError(f"the terminal did not show {text!r}; it showed\n{self.output.decode(errors='replace')}")
        return self.output

    def read_until_after(self, start, text, seconds=60):
        """Reads until the screen has shown the text behind what it had shown first."""
        self.read_until(text, seconds, self.output.count(text, 0, start) + 1)

    def read(self, seconds):
        """Takes what the screen shows within that time; False where it shows nothing more."""
        if seconds <= 0 or not select.select([self.master], [], [], seconds)[0]:
            return False
        try:
            piece = os.read(self.master, 65536)
        except OSError:  # how a pseudo-terminal says that nobody has it open any more
            return False
        self.output += piece
        return bool(piece)

    def close(self, seconds=120):
        """Reads to the end and returns the status, as a shell would show it."""
        end = time.monotonic() + seconds
        while self.read(end - time.monotonic()):
            pass
        try:
            status = self.process.wait(max(1.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGKILL)
            raise AssertionError(f"no end within {seconds} s; the terminal showed\n{self.output.decode(errors='replace')}") from None
        os.close(self.master)
        return shell_status(status)


def shell_status(status):
    """128+N for the death by a signal, as every shell tells it."""
    return status if status >= 0 else 128 - status
