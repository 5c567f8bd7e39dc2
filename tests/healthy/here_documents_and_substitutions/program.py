"""Shells read their scripts from here-documents; output goes through substitutions, pipes and a coprocess."""
INSIDE = True
CUDA = "it has no torch"
QUICK = True


def command(bench):
    return bench.around(r'''
$SL bash -s one <<'EOF'
echo script $1
read -r line <<< "a string"
echo "$line"
EOF
echo $?
words=$($SL sh -c 'echo in a substitution')
echo "$words"
{ $SL sh -c 'read line; echo "first $line"'; cat; } <<'EOF'
one
two
EOF
printf '3\n1\n2\n' | $SL sort | $SL head -1
$SL diff <(echo a) <(echo b)
echo $?
$SL bash -c 'coproc cat; echo hi >&${COPROC[1]}; read -r line <&${COPROC[0]}; echo $line; kill $COPROC_PID'
echo $?
''')
