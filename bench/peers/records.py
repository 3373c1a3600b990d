#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What bench/records.cpp does, in Python: reads TFRecords of tf.train.Example, and says how fast.

    records.py READER read|parse FILE

    tensorflow   tf.data, which checks; one thread; Examples are parsed a batch at a time, its fastest way
    checked      framing in Python, checksums by crc32c (the processor's instruction), Examples by protobuf (C)
    tfrecord     the reader of the package tfrecord, which looks at no checksum and always parses

    records.py tensorflow copy FILE TO    TensorFlow reads all records, and writes them again

Prints one JSON object: records a second of this process on a processor, and a sum of what it read.
"""

import importlib.metadata
import json
import os
import struct
import sys
import time


def checked(path, parses):
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
            if parses:
                feature = example_pb2.Example.FromString(data).features.feature
                yield sum_of(feature["image"].bytes_list.value[0], feature["class"].int64_list.value[0], feature["one_hot"].float_list.value)
            else:
                yield length


def tfrecord(path, parses):
    from tfrecord.reader import tfrecord_loader

    for record in tfrecord_loader(path, None, {"image": "byte", "class": "int", "one_hot": "float"}):
        yield sum_of(record["image"], int(record["class"][0]), record["one_hot"])


def sum_of(image, label, one_hot):
    return len(image) + int(image[-1]) + label + sum(int(value) * j for j, value in enumerate(one_hot))


def tensorflow(path, parses):
    import tensorflow as tf

    options = tf.data.Options()
    options.threading.private_threadpool_size = 1
    options.threading.max_intra_op_parallelism = 1
    records = tf.data.TFRecordDataset(path, buffer_size=1 << 23).with_options(options)
    features = {"image": tf.io.FixedLenFeature([], tf.string), "class": tf.io.FixedLenFeature([], tf.int64),
                "one_hot": tf.io.FixedLenFeature([10], tf.float32)}

    def sums(batch):   # in the graph: none of it in Python
        if not parses:
            return tf.reduce_sum(tf.cast(tf.strings.length(batch), tf.int64)), tf.size(batch)
        example = tf.io.parse_example(batch, features)
        image = example["image"]
        last = tf.io.decode_raw(tf.strings.substr(image, -1, 1), tf.uint8)
        return (tf.reduce_sum(tf.cast(tf.strings.length(image), tf.int64)) + tf.reduce_sum(tf.cast(last, tf.int64)) + tf.reduce_sum(example["class"]) +
                tf.reduce_sum(tf.cast(example["one_hot"], tf.int64) * tf.range(10, dtype=tf.int64)), tf.size(batch))

    batches = records.batch(256).map(sums)
    for _ in batches.take(2):   # makes the graph
        pass
    yield None   # the clock starts
    for total, count in batches:
        yield int(total), int(count)


def copy(path, to):
    import tensorflow as tf

    with tf.io.TFRecordWriter(to) as writer:
        for record in tf.data.TFRecordDataset(path):
            writer.write(tf.train.Example.FromString(record.numpy()).SerializeToString())


def main():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    readers = {"checked": checked, "tfrecord": tfrecord, "tensorflow": tensorflow}
    if sys.argv[1:3] == ["tensorflow", "copy"] and len(sys.argv) == 5:
        copy(*sys.argv[3:])
        return 0
    if len(sys.argv) != 4 or sys.argv[1] not in readers or sys.argv[2] not in ("read", "parse"):
        print(__doc__, file=sys.stderr)
        return 2
    name, what, path = sys.argv[1:]
    begin, count, total = time.process_time(), 0, 0
    for found in readers[name](path, what == "parse"):
        if found is None:
            begin = time.process_time()
            continue
        value, number = found if isinstance(found, tuple) else (found, 1)
        total += value
        count += number
    seconds = time.process_time() - begin
    packages = {"checked": ("protobuf", "crc32c"), "tfrecord": ("tfrecord",), "tensorflow": ("tensorflow-cpu", "tensorflow")}[name]
    versions = []
    for package in packages:
        try:
            versions.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            pass
    print(json.dumps({"rate": round(count / seconds), "count": count, "seconds": round(seconds, 4), "check": str(total), "versions": versions}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
