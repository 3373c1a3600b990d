#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Encodes 10 MB of mixed text by Regimen, by `tokenizers` and by `tiktoken`: the ids must be equal, the speeds are printed.

    python3 bench/peers/bpe.py --program build/release/examples/tokens --data tinyshakespeare.txt [--work FOLDER] [--vocabulary 16384]

Vocabularies are trained by `tokenizers` on a part of the text, with the patterns of GPT-2 and of cl100k (Llama 3's). One thread; CPU
seconds of encoding alone for the peers, of the whole program for Regimen. Exit code 1 if an id differs.
"""

import argparse
import base64
import json
import os
import pathlib
import random
import resource
import subprocess
import sys
import time
import unicodedata

os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "recorded"))

import numpy
import tiktoken
import tokenizers
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from make_tokenizers import CL100K, END, bytes_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPTS = [(0x41, 0x7A), (0xC0, 0x24F), (0x370, 0x3FF), (0x400, 0x4FF), (0x531, 0x58F), (0x5D0, 0x5EA), (0x620, 0x6FF), (0x900, 0x97F), (0x980, 0x9FF), (0xB80, 0xBFF),
           (0xE00, 0xE7F), (0xF00, 0xFFF), (0x10A0, 0x10FF), (0x1200, 0x137F), (0x1780, 0x17FF), (0x3040, 0x30FF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0x1D400, 0x1D7FF)]


def mixed(data, size, seed=1):
    """English, code, words of many scripts, every assigned character, emoji, control bytes, runs of spaces, and bytes that are no UTF-8."""
    draw = random.Random(seed)
    parts = [pathlib.Path(data).read_bytes()]
    for path in sorted((ROOT / "include").rglob("*.hpp")) + sorted((ROOT / "tests").rglob("*.py")) + sorted((ROOT / "docs").rglob("*.md")):
        parts.append(path.read_bytes())
    assigned = [chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) not in ("Cn", "Cs")]
    spaces = ["\t", "\n", "\r", "\r\n", "\u00a0", "\u2003", "\u3000", "\u0085", "\u2028", "\u180e", "\u200b", "  ", "    ", "\n\n", " \n"]
    emoji = ["\U0001F600", "\U0001F469\u200d\U0001F469\u200d\U0001F467", "\U0001F1E9\U0001F1EA", "\u2764\ufe0f", "\U0001F44D\U0001F3FD"]
    letters = [[chr(code) for code in range(low, high + 1) if unicodedata.category(chr(code)) != "Cn"] for low, high in SCRIPTS]
    while sum(map(len, parts)) < size:
        kind, words = draw.randrange(10), []
        for _ in range(2000):
            if kind < 6:
                script = letters[draw.randrange(len(letters))]
                words.append("".join(draw.choice(script) for _ in range(draw.randint(1, 12))) + draw.choice([" ", " ", " ", ", ", ". ", "\n", "'s ", "'LL "]))
            elif kind == 6:
                words.append(draw.choice(assigned) + draw.choice(["", " ", "a", "1"]))
            elif kind == 7:
                words.append(draw.choice(spaces) * draw.randint(1, 5) + draw.choice(["", "x", "7", "!", "é"]))
            elif kind == 8:
                words.append(draw.choice(emoji) + str(draw.randrange(10 ** draw.randint(1, 12))) + chr(draw.randrange(32)))
            else:
                words.append(draw.choice("abc!? 0\u4e00") * draw.randint(1, 300))
        piece = "".join(words).encode()
        if kind == 8:
            piece = bytes(byte if draw.random() > 0.01 else draw.randrange(256) for byte in piece)
        parts.append(piece)
    draw.shuffle(parts)
    raw = b"".join(parts)[:size]
    # Wrong bytes make characters by chance; those that Unicode gained since this Python's version are in no class of PCRE2's.
    for character in {one for one in raw.decode("utf-8", "replace") if unicodedata.category(one) == "Cn"}:
        raw = raw.replace(character.encode(), b"?")
    return raw


def tokens_of(path):
    header = numpy.fromfile(path, dtype="<i4", count=256)
    return numpy.fromfile(path, dtype="<u2" if header[0] == 20240520 else "<u4", offset=1024).astype(numpy.int64)


def run(program, arguments):
    """CPU seconds of the whole program: it reads the vocabulary and writes the file, too."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([program, *map(str, arguments)], stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--data", required=True, help="a text in English")
    parser.add_argument("--work", default="build/bpe")
    parser.add_argument("--vocabulary", type=int, default=16384)
    parser.add_argument("--size", type=int, default=10_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--log", help="a file to which a JSON object is added for each measurement, as bench/data.sh gathers them")
    args = parser.parse_args()
    work = pathlib.Path(args.work)
    work.mkdir(parents=True, exist_ok=True)
    raw = mixed(args.data, args.size)
    (work / "raw.txt").write_bytes(raw)
    texts = {"mixed": raw.decode("utf-8", "replace"), "english": pathlib.Path(args.data).read_text() * 9}
    for name, text in texts.items():
        (work / f"{name}.txt").write_bytes(text.encode())
    print(f"tokenizers {tokenizers.__version__}, tiktoken {tiktoken.__version__}, Unicode {unicodedata.unidata_version} in Python; {len(raw)} bytes mixed")

    wrong = 0
    for pattern in ("gpt2", "cl100k"):
        peer = Tokenizer(models.BPE(ignore_merges=pattern != "gpt2"))
        if pattern == "gpt2":
            peer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        else:
            peer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(CL100K), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
        peer.decoder = decoders.ByteLevel()
        sample = texts["mixed"][: len(texts["mixed"]) // 4]
        trainer = trainers.BpeTrainer(vocab_size=args.vocabulary, special_tokens=[], show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
        begun = time.process_time()
        peer.train_from_iterator([sample], trainer)
        trained = time.process_time() - begun
        (work / "sample.txt").write_bytes(sample.encode())
        ranks = {bytes_of(token): rank for token, rank in peer.get_vocab().items()}
        peer.save(str(work / f"{pattern}.json"))
        (work / f"{pattern}.tiktoken").write_text("".join(f"{base64.b64encode(token).decode()} {rank}\n" for token, rank in ranks.items()))

        # training: the same merges
        done = subprocess.run([args.program, "--train", str(args.vocabulary), "--pattern", pattern, "--tokenizer", work / "mine.json", "--output", work / "sample.bin", work / "sample.txt"],
                              stdout=subprocess.PIPE, text=True, check=True)
        mine, theirs = (json.loads((work / name).read_text())["model"] for name in ("mine.json", f"{pattern}.json"))
        merges = [tuple(merge.split(" ")) if isinstance(merge, str) else tuple(merge) for merge in mine["merges"]]
        same = mine["vocab"] == theirs["vocab"] and merges == [tuple(merge) for merge in theirs["merges"]]
        print(f"{pattern:7} training on {len(sample.encode())} bytes: {'the same vocabulary' if same else 'ANOTHER VOCABULARY'}; tokenizers {trained:.2f} s, Regimen {done.stdout.split('learned in ')[1].split(' s')[0]} s")
        wrong += not same
        again = Tokenizer.from_file(str(work / "mine.json"))
        wrong += again.encode(texts["mixed"][:100000]).ids != Tokenizer.from_file(str(work / f"{pattern}.json")).encode(texts["mixed"][:100000]).ids

        encoding = tiktoken.Encoding(pattern, pat_str=CL100K if pattern == "cl100k" else r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
                                     mergeable_ranks=ranks, special_tokens={END: 10 ** 5})
        for name, text in texts.items():
            size = len(text.encode())
            rounds = []
            for _ in range(args.repeat):
                rounds.append({})
                # a tokenizer that has encoded nothing, as Regimen's program has
                fresh = Tokenizer.from_file(str(work / f"{pattern}.json"))
                begun = time.process_time()
                expected = fresh.encode(text).ids
                rounds[-1]["tokenizers"] = time.process_time() - begun
                begun = time.process_time()
                by_lines = [encoded.ids for encoded in fresh.encode_batch(text.splitlines(keepends=True))]
                rounds[-1]["tokenizers by lines"] = time.process_time() - begun
                begun = time.process_time()
                ordinary = encoding.encode_ordinary(text)
                rounds[-1]["tiktoken"] = time.process_time() - begun
                rounds[-1]["Regimen"] = run(args.program, ["--threads", 1, "--tokenizer", work / f"{pattern}.json", "--output", work / "mine.bin", work / f"{name}.txt"])
            seconds = {what: min(one[what] for one in rounds) for what in rounds[0]}
            if args.log:
                with open(args.log, "a") as log:
                    for number, one in enumerate(rounds, 1):
                        for what, spent in one.items():
                            log.write(json.dumps({"case": f"encode {name} text, {pattern}", "unit": "MB per processor second", "program": "ours" if what == "Regimen" else what,
                                                  "round": number, "rate": round(size / spent / 1e6, 3),
                                                  "versions": [f"tokenizers {tokenizers.__version__}", f"tiktoken {tiktoken.__version__}"]}) + "\n")
            found = tokens_of(work / "mine.bin")
            run(args.program, ["--threads", 4, "--tokenizer", work / f"{pattern}.json", "--output", work / "threads.bin", work / f"{name}.txt"])
            run(args.program, ["--pattern", pattern, "--tokenizer", work / f"{pattern}.tiktoken", "--output", work / "ranks.bin", work / f"{name}.txt"])
            verdicts = {"tokenizers": numpy.array_equal(found, expected), "4 threads": numpy.array_equal(tokens_of(work / "threads.bin"), expected),
                        "tiktoken": numpy.array_equal(tokens_of(work / "ranks.bin"), ordinary)}
            if name == "mixed":
                run(args.program, ["--replace-invalid", "--tokenizer", work / f"{pattern}.json", "--output", work / "raw.bin", work / "raw.txt"])
                verdicts["replaced"] = numpy.array_equal(tokens_of(work / "raw.bin"), expected)
            wrong += sum(not verdict for verdict in verdicts.values())
            for verdict, is_equal in verdicts.items():
                if not is_equal and verdict == "tokenizers":
                    first = next(i for i, (a, b) in enumerate(zip(found, expected)) if a != b)
                    print("   first difference at token", first, found[first - 3 : first + 5], expected[first - 3 : first + 5], repr(peer.decode(expected[first - 3 : first + 5])))
            print(f"{pattern:7} {name:8} {size} bytes, {len(found)} tokens; equal to " + ", ".join(f"{what}: {'yes' if is_equal else 'NO'}" for what, is_equal in verdicts.items()))
            print("        " + "; ".join(f"{what} {best:.2f} s, {size / best / 1e6:.1f} MB/s" for what, best in seconds.items()) +
                  f"; {seconds['tokenizers'] / seconds['Regimen']:.1f} x tokenizers, {seconds['tokenizers by lines'] / seconds['Regimen']:.1f} x by lines, {seconds['tiktoken'] / seconds['Regimen']:.1f} x tiktoken")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
