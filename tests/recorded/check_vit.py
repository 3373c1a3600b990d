#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Do timm and Regimen read the same vision transformer from a file that Regimen wrote?

    python3 tests/recorded/check_vit.py DIR

DIR holds model.safetensors (timm's names; the sizes of vit/ beside this program, with a class token or without) and
logits.safetensors: `images` (batch, height, width, channels) and the `logits` that Regimen computed from them in fp32.

Tolerance: timm's own fp32 logits differ from its fp64 logits by some e; Regimen's may differ from the fp64 ones by 4 e, as
another order of the same sums may, and never by less than 4 units in the last place of the largest logit.

Exit code: 0 they agree, 1 they do not, 2 the files are not what is described above.
"""

import pathlib
import sys

import safetensors.torch
import torch
from timm.models.vision_transformer import VisionTransformer


def refuse(text):
    print(f"check_vit.py: {text}", file=sys.stderr)
    sys.exit(2)


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__.strip())
        sys.exit(0 if sys.argv[1:] in (["-h"], ["--help"]) else 2)
    folder = pathlib.Path(sys.argv[1])
    for name in ("model.safetensors", "logits.safetensors"):
        if not (folder / name).exists():
            refuse(f"no {folder / name}")
    tensors = safetensors.torch.load_file(folder / "model.safetensors")
    recorded = safetensors.torch.load_file(folder / "logits.safetensors")
    if recorded.keys() != {"images", "logits"}:
        refuse(f"{folder / 'logits.safetensors'} has {sorted(recorded)}; images and logits are needed")
    images, ours = recorded["images"].permute(0, 3, 1, 2), recorded["logits"].double()

    token = "cls_token" in tensors
    model = VisionTransformer(img_size=8, patch_size=4, num_classes=5, embed_dim=8, depth=2, num_heads=2,
                              **({} if token else {"class_token": False, "global_pool": "avg", "fc_norm": False})).eval()
    try:
        model.load_state_dict(tensors, strict=True)
    except RuntimeError as error:
        refuse(f"{folder / 'model.safetensors'}: {error}")
    with torch.no_grad():
        fp32 = model(images).double()
        truth = model.double()(images.double())
    if ours.shape != truth.shape:
        refuse(f"logits of shape {list(ours.shape)}; {list(truth.shape)} are expected")
    error, own = float((ours - truth).abs().max()), float((fp32 - truth).abs().max())
    tolerance = 4 * max(own, float(truth.abs().max()) * 2**-23)
    good = error <= tolerance  # false for NaN
    print(f"max |logit difference| {error:.3g} (timm's own fp32 {own:.3g}, tolerance {tolerance:.3g}): {'equal' if good else 'DIFFERENT'}")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
