#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Images from a folder to batches of numbers by torchvision and PyTorch's DataLoader: the peer of bench/data_images.cpp.

    images.py train|eval FOLDER ROUNDS

All in one thread of one process (no workers), in seconds of that process on a processor.
"""

import json
import sys
import time

import torch
from torchvision import datasets, transforms


def main():
    mode, folder, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
    torch.set_num_threads(1)
    if mode == "train":
        cut = [transforms.RandomResizedCrop(224, scale=(0.25, 1)), transforms.RandomHorizontalFlip()]
    else:
        cut = [transforms.Resize(256), transforms.CenterCrop(224)]
    numbers = [transforms.ToTensor(), transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])]
    data = datasets.ImageFolder(folder, transforms.Compose(cut + numbers))
    loader = torch.utils.data.DataLoader(data, batch_size=32, shuffle=True, num_workers=0)
    for _ in loader:  # to warm up
        pass
    images, total, began = 0, 0.0, time.process_time()
    for _ in range(rounds):
        for batch, _ in loader:
            images += len(batch)
            total += float(batch[-1, 0, -1, -1])
    seconds = time.process_time() - began
    print(json.dumps({"program": "torchvision", "images": images, "cpu_seconds": round(seconds, 3),
                      "images_per_cpu_second": round(images / seconds, 1), "sum": round(total, 3)}))


if __name__ == "__main__":
    main()
