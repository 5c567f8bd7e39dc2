"""A command `vllm` whose processes are those of vLLM's server: two spawned workers, with a communicator past torch, and uvicorn."""

import sys

UVICORN = """
import asyncio, os, sys

class Lifespan:
    async def shutdown(self):
        pass

class Server:
    lifespan = Lifespan()

    async def serve(self):
        await self.startup()
        await self.main_loop()

    async def startup(self):
        if os.environ.get("FAULT") == "cannot listen":
            print("ERROR:    [Errno 98] error while attempting to bind on address ('127.0.0.1', 30000): address already in use",
                  file=sys.stderr)
            await self.lifespan.shutdown()
            sys.exit(1)

    async def main_loop(self):
        open(os.environ["PYNCCL_MEETS"] + ".up", "w").close()
        while not os.path.exists(os.environ["PYNCCL_MEETS"] + ".over"):
            await asyncio.sleep(0.05)
"""

VLLM = """
import asyncio, multiprocessing, os, sys, time

FAULT = os.environ.get("FAULT")

def work(rank, ready, over):
    import torch, torch.distributed as dist
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:" + os.environ["ENGINE_PORT"], rank=rank, world_size=2)
    dist.barrier()
    from vllm.distributed.device_communicators.pynccl import PyNcclCommunicator
    if FAULT == "lacks" and rank == 1:
        loads_for_ever()
    PyNcclCommunicator(dist.group.WORLD, rank)
    ready.put(rank)
    told = torch.zeros(1)
    while FAULT == "idles" and not told.item():  # as SGLang's schedulers: all meet again and again, and one looks for requests
        if rank == 0:
            time.sleep(0.02)
            told[0] = not over.empty()
        dist.all_reduce(told)
    over.get()
    if FAULT == "fails later":
        raise RuntimeError("an engine has failed")

def loads_for_ever():
    time.sleep(600)

if __name__ == "__main__":
    spawn = multiprocessing.get_context("spawn")
    ready, over = spawn.Queue(), spawn.Queue()
    # SGLang's are no daemons: a process that ends waits for them.
    workers = [spawn.Process(target=work, args=(rank, ready, over), daemon=FAULT != "cannot listen") for rank in range(2)]
    for worker in workers: worker.start()
    for worker in workers: ready.get()
    from uvicorn.server import Server
    asyncio.run(Server().serve())
    for worker in workers: over.put(True)
    for worker in workers: worker.join()
    sys.exit(max(worker.exitcode for worker in workers))
"""


def make(folder, pynccl, python=sys.executable):
    """Writes the command, and the packages that it imports; `pynccl` is the module that has PyNcclCommunicator. Returns the
    command's path and the folder of the packages."""
    packages = folder / "packages"
    for path, text in (("vllm/distributed/device_communicators/pynccl.py", pynccl), ("uvicorn/server.py", UVICORN)):
        module = packages / path
        module.parent.mkdir(parents=True)
        module.write_text(text)
        for parent in list(module.parents)[: path.count("/")]:
            (parent / "__init__.py").touch()
    program = folder / "vllm"
    program.write_text(f"#!{python}\n{VLLM}")
    program.chmod(0o755)
    return program, packages
