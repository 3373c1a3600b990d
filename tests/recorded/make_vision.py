#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes resnet/ and unet/: networks of convolutions in the naming of others, and what PyTorch computes from them.

    python3 tests/recorded/make_vision.py

The blocks, stages and the forward pass of the ResNets are torchvision's own code; only the number of channels is smaller.
The U-Net has the layers and the names of the usual PyTorch program (two norms and convolutions in `double_conv`, ...). The
pictures are a function of integers, `pictures` below, that the tests compute too.
"""

import numpy
import safetensors.torch
import torch
from torch import nn
from torch.nn import functional
from torchvision.models import resnet

from make import HERE, results, twice, write


def pictures(count, height, width, channels, classes, per_pixel):
    """(count,channels,height,width) and labels: 24 bits of a hash of each number's place, in [-1, 1), and 1 more for every
    classes-th number, which tells the label."""
    size = height * width * channels
    place = numpy.arange(count * size, dtype=numpy.uint32)
    with numpy.errstate(over="ignore"):
        mixed = place * numpy.uint32(2654435761)
        mixed = (mixed ^ (mixed >> numpy.uint32(15))) * numpy.uint32(2246822519)
    values = ((mixed ^ (mixed >> numpy.uint32(13))) >> numpy.uint32(8)).astype(numpy.float64) / 2**23 - 1
    values = values.reshape(count, size)
    labels = numpy.arange(count) % classes
    values += (numpy.arange(size) % classes) == labels[:, None]
    images = torch.from_numpy(values).reshape(count, height, width, channels).permute(0, 3, 1, 2).contiguous()
    labels = torch.from_numpy(labels)
    return images, labels[:, None, None].expand(count, height, width) if per_pixel else labels


class Small(resnet.ResNet):
    """torchvision's, of any width, with the stem of ImageNet or of CIFAR."""

    def __init__(self, block, depths, width, classes, cifar):
        nn.Module.__init__(self)
        self._norm_layer, self.inplanes, self.dilation, self.groups, self.base_width = nn.BatchNorm2d, width, 1, 1, 64
        self.conv1 = nn.Conv2d(3, width, 3, 1, 1, bias=False) if cifar else nn.Conv2d(3, width, 7, 2, 3, bias=False)
        self.bn1, self.relu = nn.BatchNorm2d(width), nn.ReLU(inplace=True)
        self.maxpool = nn.Identity() if cifar else nn.MaxPool2d(3, 2, 1)
        for i, depth in enumerate(depths):
            setattr(self, f"layer{i + 1}", self._make_layer(block, width << i, depth, stride=1 if i == 0 else 2))
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d((1, 1)), nn.Linear((width << 3) * block.expansion, classes)


def as_keras(model):
    """The same network in Keras' form: biases, its norms, the stride in the first 1x1, and the largest value of each channel."""
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            module.bias = nn.Parameter(torch.zeros(module.out_channels))
        if isinstance(module, nn.BatchNorm2d):
            module.eps, module.momentum = 1.001e-5, 0.01
        if isinstance(module, resnet.Bottleneck):
            module.conv1.stride, module.conv2.stride = module.conv2.stride, module.conv1.stride
    model.avgpool = nn.AdaptiveMaxPool2d((1, 1))
    return model


class DoubleConv(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.double_conv = nn.Sequential(nn.Conv2d(inner, outer, 3, padding=1, bias=False), nn.BatchNorm2d(outer), nn.ReLU(),
                                         nn.Conv2d(outer, outer, 3, padding=1, bias=False), nn.BatchNorm2d(outer), nn.ReLU())

    def forward(self, x):
        return self.double_conv(x)


class Down(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.maxpool_conv = nn.Sequential(nn.MaxPool2d(2), DoubleConv(channels, 2 * channels))

    def forward(self, x):
        return self.maxpool_conv(x)


class Up(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.up, self.conv = nn.ConvTranspose2d(2 * channels, channels, 2, 2), DoubleConv(2 * channels, channels)

    def forward(self, x, skip):
        return self.conv(torch.cat([skip, self.up(x)], 1))


class OutConv(nn.Module):
    def __init__(self, channels, classes):
        super().__init__()
        self.conv = nn.Conv2d(channels, classes, 1)

    def forward(self, x):
        return self.conv(x)


class UNet(nn.Module):
    def __init__(self, inner, classes, channels, depth):
        super().__init__()
        self.inc = DoubleConv(inner, channels)
        for i in range(depth):
            setattr(self, f"down{i + 1}", Down(channels << i))
        for i in range(depth):
            setattr(self, f"up{i + 1}", Up(channels << (depth - 1 - i)))
        self.outc, self.depth = OutConv(channels, classes), depth

    def forward(self, x):
        skips = [self.inc(x)]
        for i in range(self.depth):
            skips.append(getattr(self, f"down{i + 1}")(skips[-1]))
        x = skips.pop()
        for i in range(self.depth):
            x = getattr(self, f"up{i + 1}")(x, skips.pop())
        return self.outc(x)


def case(name, meaning, model, height, width, channels, classes, batch, steps, rate, per_pixel=False):
    """name/model.safetensors: the model as PyTorch saves it. name/results.safetensors: its logits in evaluation, and
    `steps` steps of SGD in training, over and over on three batches."""
    torch.manual_seed(11)
    with torch.no_grad():  # not the usual initial values: biases and gains that are 0 and 1 hide mistakes
        for key, value in model.state_dict().items():
            if key.endswith("running_var"):
                value.uniform_(0.5, 1.5)
            elif value.is_floating_point():
                norm = value.dim() == 1 and key.endswith("weight")
                scale = 0.2 if value.dim() == 1 else (2 / value[0].numel()) ** 0.5
                value.normal_(mean=1.0 if norm else 0.0, std=scale)
    start = {key: value.detach().clone() for key, value in model.state_dict().items()}
    (HERE / name).mkdir(parents=True, exist_ok=True)
    path = HERE / name / "model.safetensors"
    safetensors.torch.save_file(start, path)
    path.chmod(0o644)
    images, labels = pictures(3 * batch, height, width, channels, classes, per_pixel)

    def compute(dtype, moved=None):
        model.to(dtype).load_state_dict(start)
        if moved is not None:  # by a rounding each
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter.mul_(1 + torch.randn(parameter.shape, generator=moved) * 2**-24)
        inputs = images.to(dtype)
        model.eval()
        with torch.no_grad():
            logits = model(inputs[:batch])
        if per_pixel:
            logits = logits.permute(0, 2, 3, 1)
        model.train()
        update = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9, foreach=False)
        losses, norms = [], []
        for step in range(steps):
            rows = slice(step % 3 * batch, (step % 3 + 1) * batch)
            loss = functional.cross_entropy(model(inputs[rows]), labels[rows])
            update.zero_grad()
            loss.backward()
            losses.append(loss.detach())
            norms.append(torch.stack([p.grad.square().sum() for p in model.parameters()]).sum().sqrt())
            update.step()
        final = {f"final.{key}": value.detach().clone() for key, value in model.state_dict().items() if value.is_floating_point()}
        return {"logits": logits, "losses": torch.stack(losses), "gradient_norms": torch.stack(norms)}, final

    (truth, final), (fp32, final32) = twice(compute)
    # A ReLU whose input is a rounding from 0 may be on its other side, which moves gradients by far more than a rounding. Eight
    # more runs in fp32, whose weights begin a rounding away, say by how much.
    far = {"losses": 0.0, "gradient_norms": 0.0, "final": 0.0}
    for seed in range(8):
        run, weights = compute(torch.float32, torch.Generator().manual_seed(seed))
        for key in ("losses", "gradient_norms"):
            far[key] = max(far[key], float((run[key].double() - truth[key]).abs().max()))
        far["final"] = max([far["final"]] + [float((weights[key].double() - final[key]).abs().max()) for key in final])
    write(f"{name}/results", meaning, {**results(truth, fp32), **results(final, final32, exact=False)}, batch=batch,
          steps=steps, optimizer="SGD", lr=rate, momentum=0.9,
          **{f"fp32_{key}_difference": f"{value:.3g}" for key, value in far.items()})
    print(name, far, f"losses from {truth['losses'][0]:.3f} to {truth['losses'][-1]:.3f}")


def main():
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    case("resnet/basic", "30 steps of a small ResNet of basic blocks, with the stem of CIFAR",
         Small(resnet.BasicBlock, (2, 2, 1, 1), 2, 5, True), 16, 16, 3, 5, 8, 30, 0.005)
    case("resnet/bottleneck", "2 steps of a small ResNet of bottlenecks, with the stem of ImageNet",
         Small(resnet.Bottleneck, (2, 1, 1, 1), 1, 5, False), 48, 48, 3, 5, 8, 2, 0.02)
    case("resnet/keras", "2 steps of a small ResNet of bottlenecks in Keras' form",
         as_keras(Small(resnet.Bottleneck, (1, 1, 1, 1), 1, 5, False)), 48, 48, 3, 5, 8, 2, 0.02)
    case("unet", "2 steps of a small U-Net", UNet(2, 3, 2, 2), 8, 4, 2, 3, 4, 2, 0.02, True)


if __name__ == "__main__":
    main()
