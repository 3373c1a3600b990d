#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes FOLDER/gradients.safetensors beside each recorded model: the gradients of all its parameters, in fp64 by the library
that has the model, rounded to fp32 when they are written.

    python3 tests/recorded/make_gradients.py

The models are those that make.py and make_vision.py have written; their weights are read, not made again.
"""

import safetensors.torch
import timm.models.vision_transformer
import torch
import transformers
from torch.nn import functional
from torchvision.models import resnet

import make
import make_vision
from make import HERE, whole, write


def record(folder, meaning, model, inputs, loss, buffers=(), **options):
    """One backward pass of `loss()`, a mean over the targets that count. buffers: tensors of the file that train nothing."""
    model.zero_grad()
    value = loss()
    value.backward()
    gradients = {f"gradient.{key}": tensor.grad.float().numpy() for key, tensor in model.named_parameters() if tensor.grad is not None}
    written = {key for key in safetensors.torch.load_file(HERE / folder / "model.safetensors") if key not in buffers
               and not key.endswith((".num_batches_tracked", ".running_mean", ".running_var", "embed_positions.weight"))}
    assert {f"gradient.{key}" for key in written} == set(gradients), (folder, written, set(gradients))
    write(f"{folder}/gradients", meaning, {**inputs, "loss": value.detach().reshape(1).numpy(), **gradients}, **options)


def language(folder, kind):
    """Position t against token t + 1."""
    model = kind.from_pretrained(HERE / folder, attn_implementation="sdpa").eval()
    model = make.in_own_precision(model) if folder != "gpt2" else model.double()
    generator = torch.Generator().manual_seed(90)
    tokens = torch.randint(model.config.vocab_size, (3, 13), generator=generator)
    targets = torch.where(torch.rand(3, 12, generator=generator) < 0.2, -100, tokens[:, 1:])
    tokens = tokens[:, :-1]
    record(folder, f"gradients of {folder}/model.safetensors", model, {"tokens": whole(tokens), "targets": whole(targets)},
           lambda: functional.cross_entropy(model(tokens).logits.flatten(0, 1), targets.flatten()),
           transformers=transformers.__version__)


def translator(folder, kind, padding, begin):
    """padding: the token at the end of shorter sources, which a mask hides, or None. begin: the token before every target."""
    model = kind.from_pretrained(HERE / folder, attn_implementation="eager").eval()
    model = make.with_norms_in_own_precision(model)
    if folder == "marian":
        make.with_exact_sines(model.model)
        assert all(e.padding_idx == padding for e in model.modules() if type(e) is torch.nn.Embedding)
    generator = torch.Generator().manual_seed(91)
    source, targets = torch.randint(10, (4, 7), generator=generator), torch.randint(10, (4, 5), generator=generator)
    mask = torch.ones_like(source)
    if padding is not None:
        mask = (torch.arange(7) < torch.tensor([4, 7, 1, 6])[:, None]).long()
        source = torch.where(mask == 1, source, padding)
    decoder = torch.cat([torch.full((4, 1), begin), targets[:, :-1]], 1)
    if padding is not None:  # a shorter target: padding in, and nothing to learn
        decoder[2, 3:], targets[2, 2:] = padding, -100
    record(folder, f"gradients of {folder}/model.safetensors; padding is {padding}", model,
           {"source": whole(source), "target": whole(decoder), "targets": whole(targets)},
           lambda: functional.cross_entropy(
               model(input_ids=source, attention_mask=mask, decoder_input_ids=decoder).logits.flatten(0, 1), targets.flatten()),
           buffers=("final_logits_bias",), transformers=transformers.__version__)


def pictures(folder, model, height, width, channels, classes, batch, per_pixel=False):
    model.load_state_dict(safetensors.torch.load_file(HERE / folder / "model.safetensors"))
    images, labels = make_vision.pictures(3 * batch, height, width, channels, classes, per_pixel)
    model.double().train()
    record(folder, f"gradients of {folder}/model.safetensors in training, of the first batch", model, {},
           lambda: functional.cross_entropy(model(images[:batch]), labels[:batch]))


def main():
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    language("gpt2", transformers.GPT2LMHeadModel)
    language("llama", transformers.LlamaForCausalLM)
    language("qwen2", transformers.Qwen2ForCausalLM)
    language("qwen3", transformers.Qwen3ForCausalLM)
    translator("marian", transformers.MarianMTModel, 10, 10)
    translator("t5", transformers.T5ForConditionalGeneration, 10, 0)
    translator("t5_v1_1", transformers.T5ForConditionalGeneration, None, 0)
    pictures("resnet/basic", make_vision.Small(resnet.BasicBlock, (2, 2, 1, 1), 2, 5, True), 16, 16, 3, 5, 8)
    pictures("resnet/bottleneck", make_vision.Small(resnet.Bottleneck, (2, 1, 1, 1), 1, 5, False), 48, 48, 3, 5, 8)
    pictures("resnet/keras", make_vision.as_keras(make_vision.Small(resnet.Bottleneck, (1, 1, 1, 1), 1, 5, False)), 48, 48, 3, 5, 8)
    pictures("unet", make_vision.UNet(2, 3, 2, 2), 8, 4, 2, 3, 4, True)

    for folder, options in (("vit", {}), ("vit_mean", {"class_token": False, "global_pool": "avg", "fc_norm": False})):
        model = timm.models.vision_transformer.VisionTransformer(
            img_size=8, patch_size=4, in_chans=3, num_classes=5, embed_dim=8, depth=2, num_heads=2, mlp_ratio=4.0, **options)
        model.load_state_dict(safetensors.torch.load_file(HERE / folder / "model.safetensors"))
        model.double().eval()
        images = torch.randn(4, 3, 8, 8, generator=torch.Generator().manual_seed(92))
        targets = torch.arange(4) % 5
        record(folder, f"gradients of {folder}/model.safetensors; channels of images are innermost", model,
               {"images": images.permute(0, 2, 3, 1).numpy(), "targets": whole(targets)},
               lambda: functional.cross_entropy(model(images.double()), targets), timm=timm.__version__)

    model = make.LanguageModel(11, 8, 2)
    model.load_state_dict(safetensors.torch.load_file(HERE / "lstm_language_model" / "model.safetensors"))
    model.double()
    generator = torch.Generator().manual_seed(93)
    tokens, targets = torch.randint(11, (3, 6), generator=generator), torch.randint(11, (3, 6), generator=generator)
    record("lstm_language_model", "gradients of lstm_language_model/model.safetensors", model,
           {"tokens": whole(tokens), "targets": whole(targets)},
           lambda: functional.cross_entropy(model(tokens).flatten(0, 1), targets.flatten()))

    model = make.Pairs()
    model.load_state_dict(safetensors.torch.load_file(HERE / "two_towers" / "model.safetensors"))
    model.double()
    images, tokens = torch.randn(3, 4, 5, 2, generator=generator), torch.randint(9, (3, 5), generator=generator)

    def contrast():
        z = functional.normalize(model((images.double(), tokens)).flatten(0, 1), dim=1)
        similarity = (z @ z.T / 0.2).masked_fill(torch.eye(len(z), dtype=torch.bool), float("-inf"))
        return functional.cross_entropy(similarity, torch.arange(len(z)) ^ 1)

    record("two_towers", "gradients of two_towers/model.safetensors by NtXent of temperature 1/5", model,
           {"pictures": images.numpy(), "tokens": whole(tokens)}, contrast)


if __name__ == "__main__":
    main()
