#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A GPT in PyTorch, written for speed as nanoGPT is: the peer of Regimen's GPT programs. Random tokens, fixed by --seed."""

import torch
from torch import nn
from torch.nn import functional

import peer


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.projection = nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in self.qkv(x).split(width, dim=2))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.projection(y.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.hidden = nn.Linear(width, 4 * width)
        self.projection = nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.projection(functional.gelu(self.hidden(self.norm2(x)), approximate="tanh"))


class Gpt(nn.Module):
    """Pre-norm, learned positions, biases everywhere. The output layer has its own weights and a bias, unless tied."""

    def __init__(self, layers, heads, width, context, vocabulary, tied):
        super().__init__()
        self.token = nn.Embedding(vocabulary, width)
        self.position = nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.output = nn.Linear(width, vocabulary, bias=not tied)
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                nn.init.normal_(parameter, std=0.02 / (2 * layers) ** 0.5 if name.endswith("projection.weight") else 0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)
        if tied:
            self.output.weight = self.token.weight

    def forward(self, tokens, targets):
        x = self.token(tokens) + self.position.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits = self.output(self.norm(x))
        return functional.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))


def main():
    parser = peer.options(__doc__, batch=12)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--context", type=int, default=64)
    parser.add_argument("--vocabulary", type=int, default=65)
    parser.add_argument("--tied", action="store_true", help="the output layer uses the token table, and has no bias")
    args = parser.parse_args()
    peer.begin(args)
    model = Gpt(args.layers, args.heads, args.width, args.context, args.vocabulary, args.tied)
    batches = []
    for _ in range(8):
        text = torch.randint(args.vocabulary, (args.batch, args.context + 1))
        batches.append((text[:, :-1].contiguous(), text[:, 1:].contiguous()))
    peer.train(args, model, batches, args.batch * args.context, "tokens")


if __name__ == "__main__":
    main()
