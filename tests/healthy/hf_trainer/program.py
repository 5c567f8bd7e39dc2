"""transformers' Trainer trains a tiny random model; rank 0 prepares the data while rank 1 waits."""
NEEDS = ["transformers", "accelerate"]

JOB = """
import torch
from transformers import BertConfig, BertForSequenceClassification, PrinterCallback, Trainer, TrainingArguments
arguments = TrainingArguments("out", max_steps=3, per_device_train_batch_size=2, use_cpu=BACKEND == "gloo",
                              report_to=[], disable_tqdm=True, save_strategy="no",
                              logging_strategy="no")
if RANK == 1: note("waits")
with arguments.main_process_first():
    if RANK == 0: late()
torch.manual_seed(0)
model = BertForSequenceClassification(BertConfig(vocab_size=20, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8))
data = [{"input_ids": torch.arange(4), "labels": torch.tensor(number % 2)} for number in range(16)]
trainer = Trainer(model, arguments, train_dataset=data)
trainer.remove_callback(PrinterCallback)  # it prints times
say(f"rank {RANK}: {trainer.train().global_step} steps")
import torch.distributed as dist
dist.destroy_process_group()
"""


def command(bench):
    bench.env.update(HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error", HF_HOME=str(bench.folder))
    return bench.train(JOB, end="")
