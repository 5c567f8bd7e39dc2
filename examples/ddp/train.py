"""A small real DDP training, on GPUs or on CPU, that can be told to hang in several ways.

    torchrun --nproc-per-node 4 train.py
    safelaunch torchrun --nproc-per-node 4 train.py --hang never-init

The model is a two-layer network that learns the sign of a sum; what counts here is what the ranks do
before their first collective.
"""

import argparse
import os
import signal
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

HANGS = {
    "none": "a healthy job",
    "never-init": "the bad rank sleeps and never calls init_process_group",
    "stop-before-init": "the bad rank is stopped (SIGSTOP) before init_process_group",
    "stop-in-collective": "the bad rank is stopped inside its first all_reduce",
    "skip-collective": "the bad rank skips the first all_reduce and waits in a lock",
    "die": "the bad rank ends with status 3 before init_process_group",
    "kill": "the bad rank is killed (SIGKILL) before init_process_group",
    "raise": "the bad rank raises an exception of its own",
    "slow": "the bad rank works for a while (CPU) before init_process_group: no hang at all",
    "late": "the bad rank sticks in the middle of the training",
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--backend", default="nccl" if torch.cuda.is_available() else "gloo")
    parser.add_argument("--hang", choices=HANGS, default="none",
                        help="\n".join(f"{name}: {what}" for name, what in HANGS.items()))
    parser.add_argument("--bad-rank", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=5.0, help="how long --hang slow works")
    return parser.parse_args()


def never_reaches_init():
    while True:
        time.sleep(3600)


def work_for(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(100_000))


def misbehave_before_init(args):
    if args.hang == "never-init":
        never_reaches_init()
    elif args.hang == "stop-before-init":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif args.hang == "die":
        print("the bad rank gives up", file=sys.stderr, flush=True)
        os._exit(3)
    elif args.hang == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif args.hang == "raise":
        raise ValueError("an error of the user's own")
    elif args.hang == "slow":
        work_for(args.seconds)


def misbehave_before_first_collective(args):
    if args.hang == "skip-collective":
        import threading

        threading.Event().wait()
    elif args.hang == "stop-in-collective":
        import threading

        threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGSTOP)).start()


def first_all_reduce(device, world_size):
    ones = torch.ones(1, device=device)
    dist.all_reduce(ones)
    if int(ones.item()) != world_size:
        raise RuntimeError(f"the first all_reduce is wrong: {ones.item()} for {world_size}")


def train(args, device, rank):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2)).to(device)
    model = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
    generator = torch.Generator().manual_seed(rank)
    for step in range(args.steps):
        if args.hang == "late" and rank == args.bad_rank and step == args.steps // 2:
            never_reaches_init()
        inputs = torch.randn(64, 16, generator=generator).to(device)
        labels = (inputs.sum(dim=1) > 0).long()
        loss = torch.nn.functional.cross_entropy(model(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def main():
    args = arguments()
    rank = int(os.environ.get("RANK", 0))
    if rank == args.bad_rank:
        misbehave_before_init(args)
    dist.init_process_group(args.backend)
    rank, world_size = dist.get_rank(), dist.get_world_size()
    if torch.cuda.is_available():
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
        torch.cuda.set_device(device)
    else:
        device = torch.device("cpu")
    if rank == args.bad_rank:
        misbehave_before_first_collective(args)
    elif args.hang == "stop-in-collective":
        time.sleep(1.3)  # the bad rank goes in alone, and cannot come through before it is stopped
    first_all_reduce(device, world_size)
    loss = train(args, device, rank)
    if rank == 0:
        print(f"trained {args.steps} steps on {world_size} ranks with {dist.get_backend()}: loss {loss:.3f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
    # One of gloo's threads may still hold the last operation and its tensors. Letting go of them needs the GIL, and an
    # interpreter that is ending makes that an abort (pytorch/pytorch#190489), so it does not end.
    sys.stdout.flush()
    os._exit(0)
