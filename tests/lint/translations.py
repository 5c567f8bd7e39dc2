"""The Chinese of the program and of its documents keeps up with the English.

- launcher/base/zh_CN.yaml has every title and remedy of the catalogue and every text that the sources give to tr() as it
  stands, each once and with a translation; both texts of a pair have the same places ({}, {0}).
- A phrase whose longest word stands in no source is refused: the sources put sentences together from parts, so the whole
  of a phrase need not stand in one. The section FOREIGN has the words of others, which no source of ours says.
- README.zh-CN.md and the pages of docs/zh-CN have as many headings, code blocks and rows of tables as the English ones,
  section by section.

Prints each breach as FILE:LINE and exits with 1 if there is one.
"""

import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / "launcher/base/zh_CN.yaml"
FOREIGN = "# --- What the system and yaml-cpp say"
TEXT = r'"((?:[^"\\]|\\.)*)"'
PAIR = re.compile(rf"^{TEXT}:\n  {TEXT}$", re.M)
STRINGS = re.compile(rf"(?:{TEXT}\s*)+")
ASKED = re.compile(rf"\btr\(\s*((?:{TEXT}\s*)+)")
PLACE = re.compile(r"\{(\d*)(:[^}]*)?\}")
PAGES = [("README.md", "README.zh-CN.md"), ("docs/options.md", "docs/zh-CN/options.md"), ("examples/from-scripts.md", "docs/zh-CN/from-scripts.md")]


def plain(quoted):
    return re.sub(r"\\(.)", lambda escape: {"n": "\n", "t": "\t"}.get(escape[1], escape[1]), quoted)


def joined(literals):
    """One text of C++ literals that stand behind each other."""
    return "".join(plain(part) for part in re.findall(TEXT, literals))


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def places(text):
    """The arguments that a format names, each with how it is written: "{1} {0:.1f}" → {0: ":.1f", 1: ""}."""
    return {int(number) if number else i: how for i, (number, how) in enumerate(PLACE.findall(text))}


def pairs(text):
    """Each phrase with its translation and line; what is no pair is a breach of the file's form."""
    return [(plain(found[1]), plain(found[2]), line_of(text, found.start())) for found in PAIR.finditer(text)]


def foreign(text):
    begin = text.index(FOREIGN)
    return {phrase for phrase, _, _ in pairs(text[begin : text.find("\n# ---", begin)])}


def catalogue_texts():
    """Titles and remedies, read without a YAML library: each stands in one line."""
    path = ROOT / "launcher/diagnose/catalogue.yaml"
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if found := re.match(r"  (title|remedy): (.*)$", line):
            value = found[2]
            if value.startswith("'"):
                value = value[1:-1].replace("''", "'")
            elif value.startswith('"'):
                value = plain(value[1:-1])
            yield value, f"{path.relative_to(ROOT)}:{number}"


def sources():
    for path in sorted([*ROOT.glob("launcher/**/*.cc"), *ROOT.glob("launcher/**/*.h"), *ROOT.glob("include/**/*.h")]):
        yield path, re.sub(r"^\s*//.*$", "", path.read_text(), flags=re.M)


def table_breaches():
    text = TABLE.read_text()
    name = TABLE.relative_to(ROOT)
    rows = pairs(text)
    if 2 * len(rows) != sum(1 for line in text.splitlines() if line.strip() and not line.startswith("#")):
        yield f"{name}:1: a line is neither a comment, nor a phrase, nor its translation"
    for phrase, times in collections.Counter(phrase for phrase, _, _ in rows).items():
        if times > 1:
            yield f"{name}:1: {phrase!r} is here {times} times"
    for phrase, translation, line in rows:
        if not translation.strip():
            yield f"{name}:{line}: {phrase!r} has no translation"
        if places(phrase) != places(translation):
            yield f"{name}:{line}: the translation of {phrase!r} has other places"
    known = {phrase for phrase, _, _ in rows}
    needed = foreign(text)
    for value, where in catalogue_texts():
        needed.add(value)
        if value not in known:
            yield f"{where}: {value!r} has no translation in {name}"
    said = []
    for path, source in sources():
        said += [joined(found[0]) for found in STRINGS.finditer(source)]
        for found in ASKED.finditer(source):
            if joined(found[1]) not in known:
                yield f"{path.relative_to(ROOT)}:{line_of(path.read_text(), path.read_text().find(found[2]))}: " \
                      f"{joined(found[1])!r} has no translation in {name}"
    said += [path.read_text() for path in ROOT.glob("profiles/*.yaml")]
    everything = "\0".join(said)
    for phrase, _, line in rows:
        if phrase not in needed and longest_word(phrase) not in everything.lower():
            yield f"{name}:{line}: no source says {phrase!r}"


def longest_word(phrase):
    return max(re.split(r"[\s(]", PLACE.sub(" ", phrase).lower()), key=len).strip(".,:;()")


def shape(text):
    """The sections of a page: each heading's level, with what stands below it."""
    sections = [["(head)", collections.Counter()]]
    in_code, previous_blank = False, True
    for line in text.splitlines():
        if line.startswith("#"):
            sections.append([line, collections.Counter()])
        elif line.startswith("| ") or line.startswith("- "):
            sections[-1][1]["row of a table" if line[0] == "|" else "point of a list"] += 1
        code = line.startswith("    ") and not line[4:5].isspace()
        if code and not in_code:
            sections[-1][1]["block of code"] += previous_blank
        in_code = code
        previous_blank = not line.strip()
    return sections


def page_breaches():
    for english, chinese in PAGES:
        if not (ROOT / chinese).exists():
            yield f"{chinese}:1: this page is missing; it is {english} in Chinese"
            continue
        theirs, ours = shape((ROOT / english).read_text()), shape((ROOT / chinese).read_text())
        for (heading, parts), (own, own_parts) in zip(theirs, ours):
            if heading.split(" ")[0] != own.split(" ")[0]:
                yield f"{chinese}: {own!r} stands where {english} has {heading!r}"
                break
            for part in sorted({*parts, *own_parts}):
                if parts[part] != own_parts[part]:
                    yield f"{chinese}: {own!r} has {own_parts[part]} times a {part}, {english} {parts[part]} times"
        for heading, _ in theirs[len(ours):]:
            yield f"{chinese}: lacks the section {heading!r} of {english}"
        for heading, _ in ours[len(theirs):]:
            yield f"{chinese}: {heading!r} is no section of {english}"


def main():
    found = [*table_breaches(), *page_breaches()]
    print("\n".join(found) or "the Chinese keeps up with the English")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
