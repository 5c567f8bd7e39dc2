"""facts.py HEADER... > facts.inc: a line for everything that our declarations of NVIDIA's interfaces say.

The lines are compiled twice, with our declarations and with NVIDIA's headers, and api_test.cc compares what comes of
them. So nothing can be declared and not compared.
"""

import pathlib
import re
import sys


def lines_of(text):
    text = re.sub(r"//[^\n]*", "", text)
    aliases = {own: name for name, own in re.findall(r"using (\w+) = (\w+);", text)}
    for kind, name, body in re.findall(r"^(struct|union) (\w+) \{(.*?)^\};", text, re.S | re.M):
        name = aliases.get(name, name)
        if name != "ncclConfig_t":  # each release makes it longer
            yield f"SIZE({name})"
        if kind == "struct":
            yield from (f"OFFSET({name}, {field})" for field in re.findall(r"(\w+)(?:\[\w+\])?(?: = [^;]+)?;", body))
    for body in re.findall(r"enum \w+ : unsigned \{(.*?)\};", text, re.S):
        yield from (f"VALUE({name})" for name in re.findall(r"(\w+) = ", body))
    yield from (f"VALUE({name})" for name in re.findall(r"inline constexpr [\w:]+(?: \w+)? (\w+)\s*=", text))
    yield from (f"FUNCTION({name})" for name in re.findall(r"(?:CUresult|ncclResult_t|nvmlReturn_t|const char\*) (\w+)\(", text))


for header in sys.argv[1:]:
    print(f"// {pathlib.Path(header).name}")
    for line in lines_of(pathlib.Path(header).read_text()):
        print(f"SAFELAUNCH_{line}")
