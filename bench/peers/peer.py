# SPDX-License-Identifier: Apache-2.0
"""What the PyTorch peers share: options, the timed loop, and the log that Regimen's examples write too."""

import argparse
import contextlib
import json
import math
import resource
import sys
import time

import torch


def options(description, **defaults):
    """The options that every peer has. `defaults` replace those of this function."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--steps", type=int, default=30, help="steps that are logged")
    parser.add_argument("--warmup", type=int, default=0, help="steps before those, not logged")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--seconds", type=float, default=10, help="on a GPU: of timed steps, in place of --steps")
    parser.add_argument("--batch", type=int, required="batch" not in defaults)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--weight-decay", type=float, default=0.1, help="of the weights of Linear layers; nothing else decays")
    parser.add_argument("--beta1", type=float, default=0.9)
    parser.add_argument("--beta2", type=float, default=0.99)
    parser.add_argument("--optimizer", choices=["adamw", "adam", "sgd"], default="adamw", help="sgd has the momentum --beta1")
    parser.add_argument("--foreach", action="store_true", help="the optimizer over lists of tensors, not the fused one")
    parser.add_argument("--dtype", choices=["fp32", "bf16"], default="fp32", help="bf16 is torch.autocast")
    parser.add_argument("--compile", action="store_true", help="torch.compile the model and its loss")
    parser.add_argument("--mode", default="default", help="of torch.compile")
    parser.add_argument("--gradient-norm", action="store_true", help="compute the norm of all gradients in every step")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log", default="-", help="file for one JSON object a line; - is standard output")
    parser.set_defaults(**defaults)
    return parser


def optimizer_of(model, args):
    """An optimizer that decays what Regimen decays by default: the weights of Linear layers."""
    decayed = {id(m.weight) for m in model.modules() if isinstance(m, torch.nn.Linear)}
    decayed -= {id(m.weight) for m in model.modules() if isinstance(m, torch.nn.Embedding)}  # a tied table is an embedding
    groups = [
        {"params": [p for p in model.parameters() if id(p) in decayed], "weight_decay": args.weight_decay},
        {"params": [p for p in model.parameters() if id(p) not in decayed], "weight_decay": 0.0},
    ]
    how = {"foreach": True} if args.foreach else {"fused": True}
    groups = [g for g in groups if g["params"]]
    if args.optimizer == "sgd":
        return torch.optim.SGD(groups, lr=args.lr, momentum=args.beta1, **how)
    kind = torch.optim.AdamW if args.optimizer == "adamw" else torch.optim.Adam
    return kind(groups, lr=args.lr, betas=(args.beta1, args.beta2), eps=1e-8, **how)


def peak_rss():
    """Bytes that this process has had resident at most. Compilers that torch.compile starts are not in it."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def train(args, model, batches, per_step, unit):
    """Runs the steps and logs them. `model(x, y)` is the loss; `batches` is a list that is used in turn, so that no time
    goes into making data; `per_step` counts what one step sees, in `unit`."""
    model.to(args.device)
    batches = [(x.to(args.device), y.to(args.device)) for x, y in batches]
    optimizer = optimizer_of(model, args)
    run = torch.compile(model, mode=args.mode) if args.compile else model
    mixed = (lambda: torch.autocast(args.device, torch.bfloat16)) if args.dtype == "bf16" else contextlib.nullcontext
    if args.device == "cuda":
        return train_on_gpu(args, model, run, mixed, optimizer, batches, per_step)

    def step(x, y):
        with mixed():
            loss = run(x, y)
        loss.backward()
        norm = torch.nn.utils.get_total_norm([p.grad for p in model.parameters()]).item() if args.gradient_norm else None
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.item(), norm

    with open(args.log, "w") if args.log != "-" else contextlib.nullcontext(sys.stdout) as log:

        def write(event):
            print(json.dumps(event), file=log, flush=True)

        write({"event": "peer", "torch": torch.__version__, "threads": torch.get_num_threads(), "dtype": args.dtype,
               "compile": args.compile, "parameters": sum(p.numel() for p in model.parameters()),
               "rss_bytes": peak_rss()})
        started = time.perf_counter()
        for number in range(1 - args.warmup, args.steps + 1):
            x, y = batches[number % len(batches)]
            before = time.perf_counter()
            loss, norm = step(x, y)
            seconds = time.perf_counter() - before
            if number > 0:
                event = {"event": "step", "step": number, "loss": loss if math.isfinite(loss) else None,
                         "milliseconds": 1e3 * seconds, unit + "_per_second": per_step / seconds}
                if norm is not None:
                    event["gradient_norm"] = norm
                write(event)
        write({"event": "end", "seconds": time.perf_counter() - started, "peak_rss_bytes": peak_rss()})


def train_on_gpu(args, model, run, mixed, optimizer, batches, per_step):
    """Steps for --seconds, with no wait inside a step: a wait every ten steps keeps the queue short. One JSON object."""

    def steps(first, count):
        for number in range(first, first + count):
            x, y = batches[number % len(batches)]
            with mixed():
                loss = run(x, y)
            loss.backward()
            if args.gradient_norm:  # stays on the device
                torch.nn.utils.get_total_norm([p.grad for p in model.parameters()])
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        return loss.item()

    steps(0, max(args.warmup, 10))  # compiled graphs are recorded in the third step
    torch.cuda.synchronize()
    done, began = 0, time.perf_counter()
    while time.perf_counter() - began < args.seconds:
        loss = steps(done, 10)
        done += 10
    seconds = time.perf_counter() - began
    print(json.dumps({"by": f"torch {args.mode if args.compile else 'eager'}", "torch": torch.__version__,
                      "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version(), "type": args.dtype,
                      "batch": args.batch, "gradient_norm": args.gradient_norm, "steps": done, "milliseconds": 1e3 * seconds / done,
                      "tokens_per_second": done * per_step / seconds, "loss": loss,
                      "peak_bytes": torch.cuda.max_memory_allocated()}))


def begin(args):
    """Threads and seed: before the first tensor."""
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
