#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Do transformers and Regimen read the same GPT-2 from a file that Regimen wrote?

    python3 tests/recorded/check_gpt2.py DIR

DIR holds model.safetensors (GPT-2 in the naming of Hugging Face, with or without "transformer." in front) and
logits.safetensors: `tokens` (batch, time) int32 and the `logits` (batch, time, vocabulary) that Regimen computed from them
in fp32. config.json is taken from DIR, or else from gpt2/ beside this program, in which case the model must have that shape.

Tolerance: transformers' own fp32 logits differ from its fp64 logits by some e; Regimen's may differ from the fp64 ones
by 4 e, as another order of the same sums may, and never by less than 4 units in the last place of the largest logit.

Exit code: 0 they agree, 1 they do not, 2 the files are not what is described above.
"""

import pathlib
import shutil
import sys
import tempfile

import safetensors.torch
import torch
import transformers

HERE = pathlib.Path(__file__).resolve().parent


def refuse(text):
    print(f"check_gpt2.py: {text}", file=sys.stderr)
    sys.exit(2)


def load(folder):
    """The model in fp32, every tensor of the file used, every weight of the model given."""
    given = folder if (folder / "config.json").exists() else HERE / "gpt2"
    config = transformers.GPT2Config.from_pretrained(given)
    model = transformers.GPT2LMHeadModel(config).eval().float()
    tensors = safetensors.torch.load_file(folder / "model.safetensors")
    tensors = {key if key.startswith(("transformer.", "lm_head.")) else f"transformer.{key}": value for key, value in tensors.items()}
    if config.tie_word_embeddings:
        tensors.setdefault("lm_head.weight", tensors.get("transformer.wte.weight"))
    try:
        model.load_state_dict(tensors, strict=True)
    except RuntimeError as error:
        refuse(f"{folder / 'model.safetensors'}: {error}")
    if config.tie_word_embeddings and not torch.equal(tensors["lm_head.weight"], tensors["transformer.wte.weight"]):
        refuse("lm_head.weight differs from the table that it is tied to")
    # transformers has its own way from a folder to a model; it must come to the same one. A complete folder keeps it from
    # looking elsewhere for what is missing.
    with tempfile.TemporaryDirectory() as complete:
        config.save_pretrained(complete)
        transformers.GenerationConfig().save_pretrained(complete)
        shutil.copy(folder / "model.safetensors", complete)
        loaded, report = transformers.GPT2LMHeadModel.from_pretrained(
            complete, dtype=torch.float32, output_loading_info=True, local_files_only=True)
    for what in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        if report[what]:
            refuse(f"transformers reports {what}: {sorted(map(str, report[what]))}")
    for key, value in model.state_dict().items():
        if not torch.equal(value, loaded.state_dict()[key]):
            refuse(f"transformers loads other values for {key}")
    return model


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__.strip())
        sys.exit(0 if sys.argv[1:] in (["-h"], ["--help"]) else 2)
    folder = pathlib.Path(sys.argv[1])
    for name in ("model.safetensors", "logits.safetensors"):
        if not (folder / name).exists():
            refuse(f"no {folder / name}")
    recorded = safetensors.torch.load_file(folder / "logits.safetensors")
    if not {"tokens", "logits"} <= recorded.keys():
        refuse(f"{folder / 'logits.safetensors'} has {sorted(recorded)}; tokens and logits are needed")
    tokens, ours = recorded["tokens"].long(), recorded["logits"].double()

    transformers.utils.logging.disable_progress_bar()
    model = load(folder)
    with torch.no_grad():
        fp32 = model(tokens).logits.double()
        truth = model.double()(tokens).logits
    if ours.shape != truth.shape:
        refuse(f"logits of shape {list(ours.shape)}; {list(truth.shape)} are expected")
    error = float((ours - truth).abs().max())
    own = float((fp32 - truth).abs().max())
    tolerance = 4 * max(own, float(truth.abs().max()) * 2**-23)
    good = error <= tolerance  # false for NaN
    print(f"max |logit difference| {error:.3g} (transformers' own fp32 {own:.3g}, tolerance {tolerance:.3g}): {'equal' if good else 'DIFFERENT'}")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
