"""What Catch2 would take otherwise than it is meant.

- No unit test's name begins with '-': ctest starts each test by its name, which would be an option.
- No test asks for `Contains`: with Catch2 2 it looks for a part of a text, with Catch2 3 (Debian 13) for one element.

Prints each breach as FILE:LINE and exits with 1 if there is one.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BREACHES = {
    re.compile(r'TEST_CASE\(\s*"-'): "Catch2 takes this name for an option",
    re.compile(r"Matchers::Contains\b"): "Catch2 3 means another matcher; use ContainsSubstring",
}


def breaches():
    for path in sorted(ROOT.glob("tests/unit/**/*.cc")):
        text = path.read_text()
        for pattern, why in BREACHES.items():
            for found in pattern.finditer(text):
                yield f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, found.start()) + 1}: {why}"


def main():
    found = list(breaches())
    print("\n".join(found) or "Catch2 takes every test as it is meant")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
