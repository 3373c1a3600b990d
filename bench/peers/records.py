#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What bench/records.cpp does, in Python: reads TFRecords of tf.train.Example.

    records.py checked FILE    framing in Python, checksums by crc32c (the processor's instruction), Examples by protobuf (C)
    records.py tfrecord FILE   the reader of the package tfrecord, which looks at no checksum
"""

import struct
import sys
import time


def checked(path):
    import crc32c
    from tfrecord import example_pb2

    def masked(data):
        crc = crc32c.crc32c(data)
        return ((crc >> 15 | crc << 17 & 0xFFFFFFFF) + 0xA282EAD8) & 0xFFFFFFFF

    with open(path, "rb") as file:
        while header := file.read(12):
            length, of_length = struct.unpack("<QI", header)
            assert of_length == masked(header[:8])
            data = file.read(length)
            assert struct.unpack("<I", file.read(4))[0] == masked(data)
            feature = example_pb2.Example.FromString(data).features.feature
            yield length, feature["image"].bytes_list.value[0], feature["class"].int64_list.value[0], feature["one_hot"].float_list.value


def tfrecord(path):
    from tfrecord.reader import tfrecord_loader

    for record in tfrecord_loader(path, None, {"image": "byte", "class": "int", "one_hot": "float"}):
        yield 0, bytes(record["image"]), int(record["class"][0]), record["one_hot"]


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("checked", "tfrecord"):
        print(__doc__, file=sys.stderr)
        return 2
    next_record = {"checked": checked, "tfrecord": tfrecord}[sys.argv[1]]
    begin, records, total, size = time.perf_counter(), 0, 0, 0
    for length, image, label, one_hot in next_record(sys.argv[2]):
        total += len(image) + image[-1] + label + sum(int(value) * j for j, value in enumerate(one_hot))
        size += length
        records += 1
    seconds = time.perf_counter() - begin
    print(f"{records} records, {records / seconds:.0f} a second, {size / 1e6 / seconds:.0f} MB a second, sum {total}")


if __name__ == "__main__":
    sys.exit(main())
