#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes records/: small files of data in the formats of include/regimen/data, by other programs than Regimen.

    pip install tfrecord crc32c protobuf numpy torch torchvision
    python3 tests/recorded/make_records.py               writes records/ beside this file
    python3 tests/recorded/make_records.py --check DIR   reads what Regimen has written to DIR (the hidden test case
                                                         "writes files for make_records.py" of tests/data/hostile_records.cpp)

TFRecord and tf.train.Example: the package tfrecord; .npy: NumPy; tar: Python's tarfile; CIFAR: torchvision's reading of the
Python version, beside the binary version of the same numbers; CSV and JSON lines: Python's csv and json; IDX: torchvision.
Nothing that builds or tests Regimen runs this program.
"""

import csv
import io
import json
import pathlib
import pickle
import sys
import tarfile
import tempfile

import numpy

HERE = pathlib.Path(__file__).resolve().parent / "records"


def flower(i):
    one_hot = [0.0] * 4
    one_hot[i % 4] = 1.0
    return bytes((7 * i + j) % 256 for j in range(5 + i)), i % 4, one_hot, [-i, 2**63 - 1, -(2**63), 300]


def records():
    from tfrecord.writer import TFRecordWriter

    for file, numbers in (("flowers-0.tfrec", (0, 1, 2)), ("flowers-1.tfrec", (3, 4))):
        writer = TFRecordWriter(str(HERE / file))
        for i in numbers:
            image, label, one_hot, wide = flower(i)
            writer.write({"image": (image, "byte"), "class": (label, "int"), "one_hot": (one_hot, "float"), "wide": (wide, "int")})
        writer.close()


def cifar():
    from torchvision import datasets

    pixels = numpy.random.default_rng(10).integers(0, 256, (2, 3072), dtype=numpy.uint8)
    with tempfile.TemporaryDirectory() as folder:

        class Two(datasets.CIFAR10):
            train_list, test_list = [["batch", ""]], []

            def _check_integrity(self):
                return True

            def _load_meta(self):
                pass

        batch = pathlib.Path(folder) / Two.base_folder / "batch"
        batch.parent.mkdir()
        batch.write_bytes(pickle.dumps({"data": pixels, "labels": [3, 9]}))
        read = Two(folder)
        numpy.save(HERE / "cifar10.npy", read.data)   # (2,32,32,3)
        labels = read.targets
    (HERE / "cifar10.bin").write_bytes(b"".join(bytes([label]) + row.tobytes() for label, row in zip(labels, pixels)))
    (HERE / "cifar100.bin").write_bytes(bytes([19, 99]) + pixels[0].tobytes())


def arrays():
    values = numpy.arange(12).reshape(3, 4)
    for version, kind in (((1, 0), "<f4"), ((2, 0), "<f8"), ((3, 0), "<i4"), ((1, 0), "<i8"), ((1, 0), "|u1"), ((1, 0), "<u2")):
        with open(HERE / f"{kind[1:]}.npy", "wb") as file:
            numpy.lib.format.write_array(file, values.astype(kind), version=version)
    numpy.save(HERE / "fortran.npy", numpy.asfortranarray(values.astype("<f4")))
    numpy.save(HERE / "big_endian.npy", values.astype(">f4"))


def archives():
    for name, form in (("ustar", tarfile.USTAR_FORMAT), ("gnu", tarfile.GNU_FORMAT), ("pax", tarfile.PAX_FORMAT)):
        with tarfile.open(HERE / f"{name}.tar", "w", format=form) as archive:
            folder = tarfile.TarInfo("train")
            folder.type = tarfile.DIRTYPE
            archive.addfile(folder)
            keys = ["train/0000", "train/0001"]
            keys.append("train/" + ("deep/" * 25 if name == "ustar" else "d" * 150 + "/") + "0002")   # more than 100 bytes
            for i, key in enumerate(keys):
                for extension, data in (("seg.png", bytes((i + j) % 256 for j in range(511 + i))), ("cls", str(i).encode())):
                    info = tarfile.TarInfo(f"{key}.{extension}")
                    info.size = len(data)
                    archive.addfile(info, io.BytesIO(data))


def tables():
    rows = [["name", "count", "share"], ["plain", 1, 0.1], ['a "quote", and\na line', -2, 1e-300], ["", 3, "inf"], ["é", 4, 2.5]]
    with open(HERE / "table.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    with open(HERE / "lines.jsonl", "w", encoding="utf-8") as file:
        for name, count, share in rows[1:]:
            file.write(json.dumps({"name": name, "tags": [name, "t"], "count": count, "share": float(share) if share != "inf" else None}) + "\n")


def check(folder):
    from tfrecord.reader import tfrecord_loader
    from torchvision.datasets.mnist import read_sn3_pascalvincent_tensor

    found = list(tfrecord_loader(str(folder / "flowers.tfrec"), None, {"image": "byte", "class": "int", "one_hot": "float", "wide": "int"}))
    assert len(found) == 5
    for i, record in enumerate(found):
        image, label, one_hot, wide = flower(i)
        assert bytes(record["image"]) == image and list(record["class"]) == [label], record
        assert list(record["one_hot"]) == one_hot and list(record["wide"]) == wide, record
    import struct  # the package reads no checksums, so they are checked here

    import crc32c

    data, at = (folder / "flowers.tfrec").read_bytes(), 0
    masked = lambda part: ((crc := crc32c.crc32c(part)) >> 15 | crc << 17 & 0xFFFFFFFF) + 0xA282EAD8 & 0xFFFFFFFF
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        assert struct.unpack_from("<I", data, at + 8)[0] == masked(data[at : at + 8])
        assert struct.unpack_from("<I", data, at + 12 + length)[0] == masked(data[at + 12 : at + 12 + length])
        at += 16 + length

    values = numpy.arange(12).reshape(3, 4)
    for kind in ("f4", "f8", "i4", "i8", "u1", "u2"):
        array = numpy.load(folder / f"{kind}.npy")
        assert array.dtype == numpy.dtype(kind) and (array == values).all(), kind
    assert numpy.load(folder / "vector.npy").shape == (12,)
    for kind in ("u1", "i1", "i2", "i4", "f4", "f8"):
        array = read_sn3_pascalvincent_tensor(str(folder / f"{kind}.idx"), strict=False).numpy()
        assert array.dtype == numpy.dtype(kind) and (array == values).all(), kind
    with tarfile.open(folder / "samples.tar") as archive:
        names = archive.getnames()
        assert names == ["train/0000.jpg", "train/0000.cls", "train/" + "d" * 150 + ".jpg", "train/" + "d" * 150 + ".cls"], names
        assert archive.extractfile(names[0]).read() == b"a" * 513 and archive.extractfile(names[3]).read() == b"1"
    assert (folder / "cifar10.bin").read_bytes() == (HERE / "cifar10.bin").read_bytes()
    with open(folder / "table.csv", newline="", encoding="utf-8") as file:
        assert list(csv.reader(file)) == [["name", "count", "share"], ['a "quote", and\na line', "-2", "0.1"], ["", "3", ""]]
    assert [json.loads(line) for line in open(folder / "lines.jsonl", encoding="utf-8")] == [{"name": "é\n", "count": 1}, {"name": "", "count": 2}]
    print("all files are read")


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "--check":
        check(pathlib.Path(sys.argv[2]))
    else:
        HERE.mkdir(exist_ok=True)
        records(), cifar(), arrays(), archives(), tables()
