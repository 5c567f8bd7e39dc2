"""The shell has the variables of an salloc of two nodes, or of a pod; the person starts something small and local."""
INSIDE = True
CUDA = "it has no torch"
QUICK = True


def command(bench):
    return bench.around(r'''
(export SLURM_JOB_ID=77 SLURM_NNODES=2 SLURM_NODEID=0 SLURM_NTASKS=2 SLURM_PROCID=0 SLURM_LOCALID=0
 export SLURM_JOB_NODELIST="n[1-2]" SLURM_SUBMIT_DIR=$PWD
 $SL python -c 'import os; print(os.environ["SLURM_NTASKS"])'; echo $?)
export RANK=1 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=29500 NODE_RANK=1 PET_NNODES=1
$SL python -c 'import os; print(os.environ["MASTER_PORT"], os.environ["RANK"])'; echo $?
$SL sh -c 'echo $MASTER_PORT'; echo $?
''')
