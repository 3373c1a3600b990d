#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An LSTM language model in PyTorch, as word_language_model has it: the peer of Regimen's LSTM programs. Random tokens, fixed
by --seed; every window begins with states of zero."""

import torch
from torch import nn
from torch.nn import functional

import peer


class Lstm(nn.Module):
    def __init__(self, layers, width, vocabulary):
        super().__init__()
        self.encoder = nn.Embedding(vocabulary, width)
        self.rnn = nn.LSTM(width, width, layers, batch_first=True)
        self.decoder = nn.Linear(width, vocabulary)

    def forward(self, tokens, targets):
        logits = self.decoder(self.rnn(self.encoder(tokens))[0])
        return functional.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))


def main():
    parser = peer.options(__doc__, batch=16)
    parser.add_argument("--layers", type=int, default=1)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--context", type=int, default=64)
    parser.add_argument("--vocabulary", type=int, default=256)
    args = parser.parse_args()
    peer.begin(args)
    model = Lstm(args.layers, args.width, args.vocabulary)
    batches = []
    for _ in range(8):
        text = torch.randint(args.vocabulary, (args.batch, args.context + 1))
        batches.append((text[:, :-1].contiguous(), text[:, 1:].contiguous()))
    peer.train(args, model, batches, args.batch * args.context, "tokens")


if __name__ == "__main__":
    main()
