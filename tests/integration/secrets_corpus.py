"""The corpus of tests/data/secrets: texts that hold secrets, filled in anew with values of a fixed seed."""

import random
import re
import string
import uuid

from harness import ROOT

KINDS = {"a": string.ascii_letters + string.digits, "A": string.ascii_uppercase + string.digits, "d": string.digits,
         "h": string.digits + "abcdef", "H": string.digits + "ABCDEF", "b": string.ascii_letters + string.digits + "+/",
         "w": string.ascii_lowercase, "z": string.ascii_uppercase + "234567"}
BLANK = re.compile(r"[ \n\\-]")  # a part with one of them is no part of a secret alone


class Corpus:
    def __init__(self, seed=7):
        self.random = random.Random(seed)

    def _made(self, match):
        kind, size = match[1], int(match[2] or 0)
        if kind == "u":
            return str(uuid.UUID(int=self.random.getrandbits(128)))
        if kind == "p":
            return self._of("w", size - 4) + self._of("d", 2) + self._of("A", 1) + "!"
        if kind in "ab":
            return self._of("d", 1) + self._of("w", 1) + self._of(kind, size - 2)
        return self._of(kind, size)

    def _of(self, kind, size):
        return "".join(self.random.choice(KINDS[kind]) for _ in range(size))

    def _filled(self, pattern):
        text = re.sub(r"\{([aAdhHbwzp])(\d{1,3})\}|\{(u)\}",
                      lambda m: self._made(m if m[1] else [None, "u", 0]), pattern).replace("{esc}", "\x1b")
        return text.replace("[[", "").replace("]]", ""), re.findall(r"\[\[(.*?)\]\]", text, re.S)

    def canaries(self):
        """(form, text, secrets) of each."""
        form, block, result = "", None, []
        for line in [*(ROOT / "tests/data/secrets/canaries.txt").read_text().splitlines(), "== end"]:
            if line.startswith(("== ", "=| ")):
                if block is not None:
                    result.append((form, *self._filled("\n".join(block) + "\n")))
                form, block = line[3:], [] if line[1] == "|" else None
            elif block is not None:
                block.append(line)
            elif line and not line.startswith("#"):
                result.append((form, *self._filled(line)))
        return result


def parts_of(secret):
    """What must not be shown: 8 bytes of it together, or all of a shorter one."""
    parts = {secret[at:at + 8] for at in range(max(1, len(secret) - 7))}
    return {part for part in parts if not BLANK.search(part)}
