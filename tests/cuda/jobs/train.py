"""Small trainings on GPUs, each as the framework that the environment's KIND names does it. A rank says "trained" in the end.

With FAULT=absent-before-init rank 1 never comes to the group.
"""

import os
import time

import torch
import torch.distributed as dist

STEPS = 12


def device():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    return torch.device("cuda", int(os.environ["LOCAL_RANK"]))


def never_comes():
    time.sleep(3600)


def steps(model, optimizer, where):
    for _ in range(STEPS):
        optimizer.zero_grad()
        model(torch.ones(4, 8, device=where)).sum().backward()
        optimizer.step()


def ddp():
    where = device()
    dist.init_process_group("nccl")
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 8).to(where), device_ids=[where.index])
    steps(model, torch.optim.SGD(model.parameters(), lr=0.1), where)


def fsdp2_and_tensor_parallel():
    """As torchtitan does it: four ranks, two ways."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    where = device()
    mesh = init_device_mesh("cuda", (2, 2), mesh_dim_names=("dp", "tp"))
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 8)).to(where)
    parallelize_module(model, mesh["tp"], {"0": ColwiseParallel(), "2": RowwiseParallel()})
    fully_shard(model, mesh=mesh["dp"])
    steps(model, torch.optim.AdamW(model.parameters(), lr=0.1), where)


def accelerate():
    from accelerate import Accelerator

    own = Accelerator()
    model = torch.nn.Linear(8, 8)
    data = torch.utils.data.DataLoader(torch.ones(8 * STEPS, 8), batch_size=4)
    model, optimizer, data = own.prepare(model, torch.optim.SGD(model.parameters(), lr=0.1), data)
    for batch in data:
        optimizer.zero_grad()
        own.backward(model(batch).sum())
        optimizer.step()
    own.gather(torch.ones(1, device=own.device))


def deepspeed():
    import deepspeed as ds

    # Its ranks decide by the values of gradients whether to take a step. Over the doubles these are what was there before, so
    # with other layers, and after some steps, the ranks decide differently and wait for each other.
    model = torch.nn.LayerNorm(8)
    config = {"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 1}, "zero_allow_untested_optimizer": True}
    engine, *_ = ds.initialize(model=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.1), config=config)
    for _ in range(3):
        engine.backward(engine(torch.ones(4, 8).to(engine.device)).sum())
        engine.step()


def deepspeed_offload():
    """Its optimizer is an extension that torch builds, or finds built, before there is any group."""
    import deepspeed as ds
    from deepspeed.ops.adam import DeepSpeedCPUAdam

    model = torch.nn.LayerNorm(8)
    optimizer = DeepSpeedCPUAdam(model.parameters(), lr=0.1)
    config = {"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 1, "offload_optimizer": {"device": "cpu"}}}
    engine, *_ = ds.initialize(model=model, optimizer=optimizer, config=config)
    for _ in range(3):
        engine.backward(engine(torch.ones(4, 8).to(engine.device)).sum())
        engine.step()


def hf_trainer():
    from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

    config = BertConfig(vocab_size=20, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8)
    data = [{"input_ids": torch.arange(4), "labels": torch.tensor(number % 2)} for number in range(16)]
    arguments = TrainingArguments("out", max_steps=STEPS, per_device_train_batch_size=2, report_to=[], disable_tqdm=True,
                                  save_strategy="no", logging_strategy="no")
    Trainer(BertForSequenceClassification(config), arguments, train_dataset=data).train()


def lightning():
    import lightning as pl

    class Model(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(8, 8)

        def training_step(self, batch, _):
            return self.layer(batch).sum()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    trainer = pl.Trainer(accelerator="gpu", devices=2, strategy="ddp", max_steps=STEPS, logger=False, enable_checkpointing=False,
                         enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(Model(), torch.utils.data.DataLoader(torch.ones(8 * STEPS, 8), batch_size=4))


def spawned_rank(rank, kind):
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2")
    run(kind)


def run(kind):
    if os.environ.get("FAULT") == "absent-before-init" and os.environ["RANK"] == "1":
        never_comes()
    globals()[kind]()
    torch.cuda.synchronize()
    backend = dist.get_backend_config().rpartition("cuda:")[2].partition(",")[0]
    print(f"trained {dist.get_rank()} with {backend}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    if os.environ.get("BY_SPAWN"):
        torch.multiprocessing.spawn(spawned_rank, args=(os.environ["KIND"],), nprocs=2)
    else:
        run(os.environ["KIND"])
