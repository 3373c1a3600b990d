#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A multi-layer perceptron in PyTorch: the peer of Regimen's MNIST program. Random images, fixed by --seed."""

import torch
from torch import nn
from torch.nn import functional

import peer


class Mlp(nn.Module):
    def __init__(self, widths):
        super().__init__()
        layers = []
        for inner, outer in zip(widths, widths[1:]):
            layers += [nn.Linear(inner, outer), nn.ReLU()]
        self.layers = nn.Sequential(*layers[:-1])

    def forward(self, images, labels):
        return functional.cross_entropy(self.layers(images), labels)


def main():
    parser = peer.options(__doc__, batch=1024)
    parser.add_argument("--widths", default="784,4096,4096,10", help="of the input, the hidden layers, the output")
    args = parser.parse_args()
    peer.begin(args)
    widths = [int(width) for width in args.widths.split(",")]
    model = Mlp(widths)
    batches = [(torch.rand(args.batch, widths[0]), torch.randint(widths[-1], (args.batch,))) for _ in range(4)]
    peer.train(args, model, batches, args.batch, "samples")


if __name__ == "__main__":
    main()
