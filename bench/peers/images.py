#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Images from a folder to batches of numbers by torchvision and PyTorch's DataLoader: the peer of bench/data_images.cpp.

    images.py train|eval FOLDER ROUNDS WORKERS

Prints one JSON object: images a second; without workers a second of this process on a processor.
"""

import json
import sys
import time

import PIL
import torch
import torchvision
from torchvision import datasets, transforms


def main():
    mode, folder, rounds, workers = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    torch.set_num_threads(1)
    if mode == "train":
        cut = [transforms.RandomResizedCrop(224, scale=(0.25, 1)), transforms.RandomHorizontalFlip()]
    else:
        cut = [transforms.Resize(256), transforms.CenterCrop(224)]
    numbers = [transforms.ToTensor(), transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])]
    data = datasets.ImageFolder(folder, transforms.Compose(cut + numbers))
    loader = torch.utils.data.DataLoader(data, batch_size=32, shuffle=True, num_workers=workers, persistent_workers=workers > 0)
    clock = time.process_time if workers == 0 else time.perf_counter
    for _ in loader:  # to warm up
        pass
    images, total, began = 0, 0.0, clock()
    for _ in range(rounds):
        for batch, _ in loader:
            images += len(batch)
            total += float(batch[-1, 0, -1, -1])
    seconds = clock() - began
    print(json.dumps({"rate": round(images / seconds, 1), "count": images, "seconds": round(seconds, 3), "sum": round(total, 3),
                      "versions": [f"torch {torch.__version__}", f"torchvision {torchvision.__version__}", f"Pillow {PIL.__version__}"]}))


if __name__ == "__main__":
    main()
