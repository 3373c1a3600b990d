#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes images/: files of images, and what Pillow and torchvision make of them.

    python3 tests/recorded/make_images.py

sizes.png, operations.png, jitter.png and others are results, as PNG files without loss; the tests decode them with the
code that they test, whose decoder is compared with pixels.png first: a picture that is a function of integers, `drawn`
below, which the tests compute too.
"""

import io

import numpy
from PIL import Image
from torchvision.transforms import InterpolationMode, autoaugment
from torchvision.transforms import functional

from make import HERE

FOLDER = HERE / "images"


def drawn(height, width, channels=3):
    """A picture of waves and edges, in integers alone."""
    y, x, c = numpy.meshgrid(numpy.arange(height), numpy.arange(width), numpy.arange(channels), indexing="ij")
    waves = (x * (3 + c) + y * (5 - c) + (x * y) // (7 + c)) % 256
    edges = numpy.where(((x // 6) + (y // 5)) % 3 == c % 3, 60, 0)
    return ((waves * 3 // 4 + edges) % 256).astype(numpy.uint8)


def save(name, array, **options):
    Image.fromarray(array).save(FOLDER / name, **options)


def stacked(images):
    """One picture of pictures of one width, one below the other."""
    return numpy.concatenate([numpy.asarray(image) for image in images], axis=0)


def main():
    FOLDER.mkdir(exist_ok=True)
    picture = Image.fromarray(drawn(37, 53))

    # Formats: the same 12 x 10 picture in every type that PNG and JPEG have.
    small = drawn(12, 10)
    save("rgb.png", small)
    save("gray.png", small[:, :, 0])
    alpha = numpy.concatenate([small, drawn(12, 10, 4)[:, :, 3:]], axis=2)
    save("rgba.png", alpha)
    save("gray_alpha.png", alpha[:, :, [0, 3]])
    Image.fromarray(small).quantize(16).save(FOLDER / "palette.png")
    save("palette_rgb.png", numpy.asarray(Image.open(FOLDER / "palette.png").convert("RGB")))
    Image.fromarray(small[:, :, 0]).convert("1").save(FOLDER / "bits.png")
    save("bits_rgb.png", numpy.asarray(Image.open(FOLDER / "bits.png").convert("RGB")))
    Image.fromarray(small[:, :, 0].astype(numpy.uint16) * 257).save(FOLDER / "gray16.png")
    for name, options in {"baseline": {}, "progressive": {"progressive": True}, "full": {"subsampling": 0}}.items():
        picture.save(FOLDER / f"{name}.jpg", quality=85, **options)
        save(f"{name}_jpg.png", numpy.asarray(Image.open(FOLDER / f"{name}.jpg").convert("RGB")))
    picture.convert("L").save(FOLDER / "gray.jpg", quality=85)
    save("gray_jpg.png", numpy.asarray(Image.open(FOLDER / "gray.jpg")))
    picture.convert("CMYK").save(FOLDER / "cmyk.jpg", quality=85)
    save("cmyk_jpg.png", numpy.asarray(Image.open(FOLDER / "cmyk.jpg").convert("RGB")))
    reduced = Image.open(FOLDER / "baseline.jpg")
    reduced.draft("RGB", (26, 18))
    save("baseline_half.png", numpy.asarray(reduced.convert("RGB")))

    # Sizes: of the picture of 37 x 53, all 24 wide.
    sizes = []
    for filter in (Image.Resampling.BILINEAR, Image.Resampling.BICUBIC):
        for height in (5, 18, 37, 61):
            sizes.append(picture.resize((24, height), filter))
    save("sizes.png", stacked(sizes), optimize=True)
    tensor = functional.pil_to_tensor(picture)
    save("sizes_tensor.png", stacked([functional.resize(tensor, [18, 24], mode, antialias=True).permute(1, 2, 0).numpy()
                                      for mode in (InterpolationMode.BILINEAR, InterpolationMode.BICUBIC)]), optimize=True)
    save("larger.png", stacked([picture.resize((80, 50), filter) for filter in
                                (Image.Resampling.BILINEAR, Image.Resampling.BICUBIC)]), optimize=True)
    save("part.png", numpy.asarray(functional.resized_crop(picture, 7, 11, 20, 31, [16, 16])))

    # Operations of RandAugment in their order, of magnitude 9; with the other sign, too, where they have one.
    small, results = Image.fromarray(drawn(19, 24)), []
    for name, (magnitudes, signed) in autoaugment.RandAugment()._augmentation_space(31, (19, 24)).items():
        value = float(magnitudes[9]) if magnitudes.ndim > 0 else 0.0
        for sign in (1, -1) if signed else (1,):
            results.append(autoaugment._apply_op(small, name, value * sign, InterpolationMode.NEAREST, None))
    save("operations.png", stacked(results), optimize=True)
    tensor = functional.pil_to_tensor(small)
    hue = [functional.adjust_hue(tensor, turns).permute(1, 2, 0).numpy() for turns in (-0.4, -0.1, 0.05, 0.3)]
    save("hue.png", stacked(hue), optimize=True)


if __name__ == "__main__":
    main()
