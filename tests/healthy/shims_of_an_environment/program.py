"""python is a shim, as those of pyenv and conda, which sets variables and runs the true one below a shell."""
INSIDE = True
CUDA = "it has no torch"
QUICK = True


def command(bench):
    return bench.around(r'''
mkdir -p shims env/bin
true_python=$(command -v python)
cat > shims/python <<EOF
#!/bin/bash
export CONDA_PREFIX=$PWD/env CONDA_SHLVL=1 VIRTUAL_ENV=
hash -r
exec -a python $true_python "\$@"
EOF
printf '#!/bin/sh\nset -eu\n"$(dirname "$0")/../shims/python" "$@" || exit $?\n' > env/bin/python
chmod +x shims/python env/bin/python
PATH=$PWD/shims:$PATH $SL python -c 'import os, sys; print(os.environ["CONDA_SHLVL"], sys.argv); sys.exit(5)' a; echo $?
PATH=$PWD/env/bin:$PATH $SL python -c 'import sys; print(sys.argv); sys.exit(6)' b; echo $?
''')
