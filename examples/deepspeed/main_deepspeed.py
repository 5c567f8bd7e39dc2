"""A complete DeepSpeed program, small enough for a CPU: train, test, predict, checkpoints, resume.

    safelaunch deepspeed --num_gpus 2 main_deepspeed.py --config config.yaml --task train
    safelaunch deepspeed --num_gpus 2 main_deepspeed.py --config config.yaml --task train --resume
    safelaunch deepspeed --num_gpus 1 main_deepspeed.py --config config.yaml --task test
    safelaunch deepspeed --num_gpus 1 main_deepspeed.py --config config.yaml --task predict --input 1,-2,3,0.5

The model learns whether the numbers of a row add up to something positive. With `enabled: false` in the
configuration the same program trains in one process without DeepSpeed.
"""

import argparse
import logging
import os
import pathlib
import sys

import torch
import yaml

FEATURES = 4
LOG = logging.getLogger("main_deepspeed")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--config", default=str(pathlib.Path(__file__).with_name("config.yaml")))
    parser.add_argument("--task", choices=("train", "test", "predict"), default="train")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--checkpoints", default="checkpoints")
    parser.add_argument("--resume", action="store_true", help="go on from the newest checkpoint")
    parser.add_argument("--input", default="1,1,1,1", help="the row that --task predict judges")
    parser.add_argument("--local_rank", type=int, default=int(os.environ.get("LOCAL_RANK", 0)))
    parser.add_argument("--deepspeed", action="store_true", help="taken, as many scripts pass it; see config.yaml")
    return parser.parse_args()


def read_config(path):
    with open(path) as stream:
        config = yaml.safe_load(stream)["deepspeed"]
    known = {"enabled", "zero_stage", "precision", "cpu_offload", "log_level", "batch_size", "learning_rate"}
    unknown = set(config) - known
    if unknown:
        raise SystemExit(f"{path}: unknown key {sorted(unknown)[0]}; known are {', '.join(sorted(known))}")
    return config


def ds_config(config):
    """What the YAML's few keys mean in DeepSpeed's own terms."""
    zero = {"stage": config["zero_stage"]}
    if config["cpu_offload"]:
        zero["offload_optimizer"] = {"device": "cpu"}
    return {
        "train_micro_batch_size_per_gpu": config["batch_size"],
        "gradient_clipping": 1.0,
        "zero_optimization": zero,
        "fp16": {"enabled": config["precision"] == "fp16"},
        "bf16": {"enabled": config["precision"] == "bf16"},
        "optimizer": {"type": "AdamW", "params": {"lr": config["learning_rate"], "torch_adam": True}},
        "zero_allow_untested_optimizer": True,
        "zero_force_ds_cpu_optimizer": False,
    }


def make_model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(FEATURES, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2))


def make_rows(seed, rows=512):
    inputs = torch.randn(rows, FEATURES, generator=torch.Generator().manual_seed(seed))
    return torch.utils.data.TensorDataset(inputs, (inputs.sum(dim=1) > 0).long())


def set_up_logging(level):
    """Rank 0 speaks; the others only when something is wrong."""
    rank = int(os.environ.get("RANK", 0))
    logging.basicConfig(level=level.upper() if rank == 0 else "ERROR",
                        format=f"[rank {rank}] %(levelname)s %(message)s")


class Plain:
    """The part of DeepSpeed's engine that this program uses, in one process and without DeepSpeed."""

    def __init__(self, model, config):
        self.module, self.device = model, torch.device("cpu")
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=config["learning_rate"])

    def __call__(self, inputs):
        return self.module(inputs)

    def backward(self, loss):
        self.optimizer.zero_grad()
        loss.backward()

    def step(self):
        self.optimizer.step()

    def save_checkpoint(self, directory, tag, client_state):
        os.makedirs(f"{directory}/{tag}", exist_ok=True)
        torch.save({"model": self.module.state_dict(), **client_state}, f"{directory}/{tag}/plain.pt")
        pathlib.Path(directory, "latest").write_text(tag)

    def load_checkpoint(self, directory, load_module_only=False):
        latest = pathlib.Path(directory, "latest")
        if not latest.exists():
            return None, {}
        path = pathlib.Path(directory, latest.read_text().strip(), "plain.pt")
        state = torch.load(path, weights_only=True)
        self.module.load_state_dict(state.pop("model"))
        return str(path), state


def make_engine(config):
    model = make_model()
    if not config["enabled"] or "RANK" not in os.environ:
        return Plain(model, config)
    import deepspeed

    deepspeed.init_distributed()
    engine, _, _, _ = deepspeed.initialize(model=model, model_parameters=model.parameters(),
                                           config=ds_config(config))
    return engine


def compute_type(config):
    if not config["enabled"] or "RANK" not in os.environ:
        return torch.float32
    return {"fp16": torch.float16, "bf16": torch.bfloat16}.get(config["precision"], torch.float32)


def batches(dataset, config, shuffle_seed=None):
    sampler = None
    if torch.distributed.is_initialized():
        sampler = torch.utils.data.DistributedSampler(dataset, shuffle=shuffle_seed is not None)
        sampler.set_epoch(shuffle_seed or 0)
    return torch.utils.data.DataLoader(dataset, batch_size=config["batch_size"], sampler=sampler)


def train(engine, config, args):
    first_epoch = 0
    if args.resume:
        path, state = engine.load_checkpoint(args.checkpoints)
        if path is None:
            raise SystemExit(f"--resume: there is no checkpoint in {args.checkpoints}")
        first_epoch = state["epoch"] + 1
        LOG.info("resumed from %s: epoch %d is next", path, first_epoch)
    for epoch in range(first_epoch, args.epochs):
        for inputs, labels in batches(make_rows(seed=1), config, shuffle_seed=epoch):
            outputs = engine(inputs.to(engine.device, compute_type(config)))
            loss = torch.nn.functional.cross_entropy(outputs.float(), labels.to(engine.device))
            engine.backward(loss)
            engine.step()
        LOG.info("epoch %d: loss %.4f", epoch, loss.item())
        engine.save_checkpoint(args.checkpoints, tag=f"epoch-{epoch}", client_state={"epoch": epoch})


@torch.no_grad()
def accuracy(engine, config):
    right = total = 0
    for inputs, labels in batches(make_rows(seed=2), config):
        guesses = engine(inputs.to(engine.device, compute_type(config))).argmax(dim=1).cpu()
        right += int((guesses == labels).sum())
        total += len(labels)
    if torch.distributed.is_initialized():
        counts = torch.tensor([right, total], device=engine.device)
        torch.distributed.all_reduce(counts)
        right, total = counts.tolist()
    return right / total


@torch.no_grad()
def predict(engine, config, text):
    row = torch.tensor([[float(number) for number in text.split(",")]])
    if row.shape[1] != FEATURES:
        raise SystemExit(f"--input takes {FEATURES} numbers, not {row.shape[1]}")
    return int(engine(row.to(engine.device, compute_type(config))).argmax())


def main():
    args = arguments()
    config = read_config(args.config)
    set_up_logging(config["log_level"])
    engine = make_engine(config)
    if args.task == "train":
        train(engine, config, args)
    elif engine.load_checkpoint(args.checkpoints, load_module_only=True)[0] is None:
        raise SystemExit(f"there is no checkpoint in {args.checkpoints}: run --task train first")
    if args.task == "predict":
        LOG.info("the sum of %s is %s", args.input, "positive" if predict(engine, config, args.input) else "not positive")
    else:
        LOG.info("accuracy on new rows: %.3f", accuracy(engine, config))
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
    # One of gloo's threads may still hold the last operation and its tensors. Letting go of them needs the GIL, and an
    # interpreter that is ending makes that an abort (pytorch/pytorch#190489), so it does not end.
    sys.stdout.flush()
    os._exit(0)
