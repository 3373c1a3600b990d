#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Do transformers and Regimen read the same Llama or Qwen from files that Regimen wrote?

    python3 tests/recorded/check_llama.py DIR

DIR is called llama, qwen2 or qwen3 and holds model.safetensors, or several files and model.safetensors.index.json, in the
naming of Hugging Face, and logits.safetensors: `tokens` (batch, time) int32 and the `logits` (batch, time, vocabulary) that
Regimen computed from them in fp32. The test train.llama writes such folders to REGIMEN_LLAMA_OUT. config.json is that of the
folder of this name beside this program.

Tolerance: Regimen's logits may differ from transformers' fp64 ones by four times as much as transformers' own fp32 logits,
as another order of the same sums may, and never by less than 4 units in the last place of the largest logit.

Exit code: 0 they agree, 1 they do not, 2 the files are not what is described above.
"""

import pathlib
import shutil
import sys
import tempfile

import safetensors.torch
import torch
import transformers

import make

HERE = pathlib.Path(__file__).resolve().parent


def refuse(text):
    print(f"check_llama.py: {text}", file=sys.stderr)
    sys.exit(2)


def load(folder):
    """The model in fp32, as transformers loads a folder: every tensor of the files used, every weight of the model given."""
    with tempfile.TemporaryDirectory() as complete:
        shutil.copy(HERE / folder.name / "config.json", complete)
        transformers.GenerationConfig().save_pretrained(complete)
        for file in folder.glob("model*"):
            shutil.copy(file, complete)
        model, report = transformers.AutoModelForCausalLM.from_pretrained(
            complete, dtype=torch.float32, output_loading_info=True, local_files_only=True, attn_implementation="sdpa")
    for what in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        if report[what]:
            refuse(f"transformers reports {what}: {sorted(map(str, report[what]))}")
    return model.eval()


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__.strip())
        sys.exit(0 if sys.argv[1:] in (["-h"], ["--help"]) else 2)
    folder = pathlib.Path(sys.argv[1]).resolve()
    if folder.name not in ("llama", "qwen2", "qwen3") or not (folder / "logits.safetensors").exists():
        refuse(f"no {folder / 'logits.safetensors'}, or a folder of another name than llama, qwen2 and qwen3")
    recorded = safetensors.torch.load_file(folder / "logits.safetensors")
    tokens, ours = recorded["tokens"].long(), recorded["logits"].double()

    transformers.utils.logging.disable_progress_bar()
    model = load(folder)
    with torch.no_grad():
        fp32 = model(tokens).logits.double()
        truth = make.in_own_precision(model)(tokens).logits
    if ours.shape != truth.shape:
        refuse(f"logits of shape {list(ours.shape)}; {list(truth.shape)} are expected")
    error = float((ours - truth).abs().max())
    own = float((fp32 - truth).abs().max())
    tolerance = 4 * max(own, float(truth.abs().max()) * 2**-23)
    good = error <= tolerance  # false for NaN
    print(f"{folder.name}: max |logit difference| {error:.3g} (transformers' own fp32 {own:.3g}, tolerance {tolerance:.3g}): {'equal' if good else 'DIFFERENT'}")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
