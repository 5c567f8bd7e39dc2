"""No unit test's name begins with '-': ctest starts each test by its name, and Catch2 would take it for an option.

Prints each such name as FILE:LINE and exits with 1 if there is one.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAME = re.compile(r'TEST_CASE\(\s*"-')


def breaches():
    for path in sorted(ROOT.glob("tests/unit/**/*.cc")):
        text = path.read_text()
        for found in NAME.finditer(text):
            yield f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, found.start()) + 1}: Catch2 takes this name for an option"


def main():
    found = list(breaches())
    print("\n".join(found) or "every test can be started by its name")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
