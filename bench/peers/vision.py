#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks of images in PyTorch, channels last: the peer of Regimen's programs in bench/vision.hpp. Random images, fixed by --seed."""

import torch
import torchvision
from torch import nn
from torch.nn import functional

import peer


def resnet18(classes):
    """torchvision's, with the stem for images of 32 x 32."""
    model = torchvision.models.resnet18(num_classes=classes)
    model.conv1 = nn.Conv2d(3, 64, 3, 1, 1, bias=False)
    model.maxpool = nn.Identity()
    return model


def vit_s16(classes):
    import timm

    return timm.create_model("vit_small_patch16_224", num_classes=classes)


MODELS = {"resnet18": resnet18, "vit_s16": vit_s16}


class WithLoss(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, images, labels):
        return functional.cross_entropy(self.model(images), labels)


def main():
    parser = peer.options(__doc__, batch=128, optimizer="sgd", lr=1e-2, weight_decay=0)
    parser.add_argument("--model", choices=sorted(MODELS), default="resnet18")
    parser.add_argument("--size", type=int, default=32, help="height and width of the images")
    parser.add_argument("--classes", type=int, default=10)
    args = parser.parse_args()
    peer.begin(args)
    model = WithLoss(MODELS[args.model](args.classes)).to(memory_format=torch.channels_last)
    batches = [(torch.rand(args.batch, 3, args.size, args.size).to(memory_format=torch.channels_last),
                torch.randint(args.classes, (args.batch,))) for _ in range(4)]
    peer.train(args, model, batches, args.batch, "samples")


if __name__ == "__main__":
    main()
