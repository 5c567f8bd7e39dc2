"""Words and variables that are no UTF-8, a newline in the file's name, an empty word, 900 KB of environment."""
INSIDE = True
CUDA = "it has no torch"


def command(bench):
    bench.script("""
import os, sys
print([os.fsencode(word) for word in sys.argv[1:]], os.fsencode(os.environ["BAD"]))
print(sum(len(value) for name, value in os.environ.items() if name.startswith("BIG")))
""")
    return bench.around(r'''
file=$'job\n\xff.py'
cp job.py "$file"
export BAD=$'\xfe\xff' "SP ACE=x" BIG=$(head -c 120000 /dev/zero | tr '\0' b)
for i in 1 2 3 4 5 6; do export BIG$i=$BIG; done
$SL python "$file" $'a\xffb' '' $'c\nd' '*' -- '--profile' 'x'
echo $?
''')
