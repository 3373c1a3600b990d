"""Files of events: writes them with TensorBoard's own protocol buffers and record writer, and reads them with its reader.

    python make_events.py            writes tests/recorded/events.tfevents, and checks it
    python make_events.py FOLDER     checks that TensorBoard reads the files of a folder, and prints what is there

Needs: pip install tensorboard numpy
"""
import math
import os
import struct
import sys
import zlib

import numpy
from tensorboard.backend.event_processing import event_accumulator
from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2, tensor_shape_pb2, types_pb2
from tensorboard.summary.writer.record_writer import RecordWriter

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "events.tfevents")
VALUES = [-1.5, 0.0, 0.0, 1e-13, 0.25, 0.25, 0.25, 2.0, 1e30]
WORDS = "# A plan\n\n    weights 1 MiB\n"
COLOUR = numpy.arange(18, dtype=numpy.uint8).reshape(2, 3, 3) * 14
GRAY = numpy.array([[0, 255], [128, 7]], dtype=numpy.uint8).reshape(2, 2, 1)


def limits():
    positive, limit = [], 1e-12
    while limit < 1e20:
        positive.append(limit)
        limit *= 1.1
    positive.append(sys.float_info.max)
    return [-x for x in reversed(positive)] + [0.0] + positive


def histogram(values):
    ends = limits()
    counts = [0.0] * len(ends)
    for value in values:
        counts[min(numpy.searchsorted(ends, value, side="right"), len(ends) - 1)] += 1
    shown = [(end, count) for i, (end, count) in enumerate(zip(ends, counts))
             if count > 0 or i + 1 == len(ends) or counts[i + 1] > 0]   # of empty ones side by side the last
    return summary_pb2.HistogramProto(
        min=min(values, default=0), max=max(values, default=0), num=len(values), sum=sum(values),
        sum_squares=sum(v * v for v in values), bucket_limit=[e for e, _ in shown], bucket=[c for _, c in shown])


def png(pixels):
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    height, width, channels = pixels.shape
    raw = b"".join(b"\0" + row.tobytes() for row in pixels)
    kind = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(raw, 0)) + chunk(b"IEND", b""))


def scalar(tag, value):
    return summary_pb2.Summary.Value(tag=tag, simple_value=value)


def image(tag, pixels):
    height, width, channels = pixels.shape
    return summary_pb2.Summary.Value(tag=tag, image=summary_pb2.Summary.Image(
        height=height, width=width, colorspace=channels, encoded_image_string=png(pixels)))


def text(tag, words):
    metadata = summary_pb2.SummaryMetadata(plugin_data=summary_pb2.SummaryMetadata.PluginData(plugin_name="text"))
    tensor = tensor_pb2.TensorProto(
        dtype=types_pb2.DT_STRING, string_val=[words.encode()],
        tensor_shape=tensor_shape_pb2.TensorShapeProto(dim=[tensor_shape_pb2.TensorShapeProto.Dim(size=1)]))
    return summary_pb2.Summary.Value(tag=tag + "/text_summary", tensor=tensor, metadata=metadata)


def make():
    with open(PATH, "wb") as file:
        writer = RecordWriter(file)

        def write(time, step, values):
            event = event_pb2.Event(wall_time=time, step=step, summary=summary_pb2.Summary(value=values))
            writer.write(event.SerializeToString(deterministic=True))
        writer.write(event_pb2.Event(wall_time=1700000000.25, file_version="brain.Event:2").SerializeToString())
        write(1700000001, 0, [image("colour", COLOUR), image("gray", GRAY)])
        write(1700000002, 1, [scalar("train/loss", 2.5), scalar("none", 0.0), scalar("nan", math.nan),
                              scalar("infinite", -math.inf)])
        write(1700000003.5, 300, [histogram_value("weights", VALUES), histogram_value("empty", [])])
        write(1700000004, 2**40, [text("run", WORDS)])


def histogram_value(tag, values):
    return summary_pb2.Summary.Value(tag=tag, histo=histogram(values))


def read(path):
    sizes = {name: 0 for name in (event_accumulator.SCALARS, event_accumulator.HISTOGRAMS, event_accumulator.IMAGES,
                                  event_accumulator.TENSORS)}
    reader = event_accumulator.EventAccumulator(path, size_guidance=sizes)
    reader.Reload()
    return reader


def check():
    reader = read(PATH)
    assert reader.Scalars("train/loss") == [event_accumulator.ScalarEvent(1700000002, 1, 2.5)]
    assert reader.Scalars("none")[0].value == 0 and math.isnan(reader.Scalars("nan")[0].value)
    weights = reader.Histograms("weights")[0]
    value = weights.histogram_value
    assert weights.step == 300 and value.num == 9 and value.min == -1.5 and value.max == 1e30
    assert sum(value.bucket) == 9 and len(value.bucket) == len(value.bucket_limit) < 20
    assert reader.Images("colour")[0].encoded_image_string == png(COLOUR) and reader.Images("gray")[0].width == 2
    assert reader.Tensors("run/text_summary")[0].step == 2**40
    assert reader.Tensors("run/text_summary")[0].tensor_proto.string_val[0].decode() == WORDS


if __name__ == "__main__":
    if len(sys.argv) > 1:
        found = read(sys.argv[1])
        for kind, tags in found.Tags().items():
            print(kind, tags)
        for tag in found.Tags()["scalars"]:
            print(tag, [(e.step, e.value) for e in found.Scalars(tag)][:5])
    else:
        make()
        check()
