"""python by_fork.py RANKS PORT SCRIPT [WORD...]: runs the script in so many ranks, forked from one Python that has imported torch.

As torch.multiprocessing does with start_method="fork". A rank costs no import, two to four seconds of processor.
"""
import gc
import os
import runpy
import sys

import torch.distributed  # noqa: F401: once, for all ranks


def become(rank, ranks, port):
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_WORLD_SIZE=str(ranks),
                      MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
    runpy.run_path(sys.argv[0], run_name="__main__")


def main():
    ranks, port = int(sys.argv[1]), sys.argv[2]
    del sys.argv[:3]
    gc.freeze()  # no rank walks over what torch's modules hold, which would copy their pages
    started = []
    for rank in range(ranks):
        pid = os.fork()
        if pid == 0:
            return become(rank, ranks, port)
        started.append(pid)
    statuses = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in started]
    sys.exit(next((status for status in statuses if status), 0))


if __name__ == "__main__":
    main()
