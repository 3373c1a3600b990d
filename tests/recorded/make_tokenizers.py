#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tokenizers/ beside this file: small vocabularies that `tokenizers` trained, and the ids that it and `tiktoken` give.

    python3 tests/recorded/make_tokenizers.py

    text.txt          what the vocabularies are trained on
    gpt2.json         tokenizer.json with GPT-2's pre-tokenizer; gpt2-vocab.json and gpt2-merges.txt are the same model
    llama3.json       with Llama 3's: a Split, ignore_merges, merges as pairs, a template, special tokens behind the vocabulary
    digits.json       a Sequence of Digits, a Split that removes what does not match, and ByteLevel; tokens that are added, not special
    cl100k.tiktoken   the tokens of llama3.json as ranks
    cases.json        texts, and their ids in each
"""

import base64
import json
import pathlib

import tiktoken
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

HERE = pathlib.Path(__file__).resolve().parent / "tokenizers"
CL100K = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
END = "<|endoftext|>"

TEXT = """The quick brown fox jumps over the lazy dog, and the dog doesn't mind; it's the fox's thing, they've said. I'M SURE WE'LL SEE.
In the beginning there was the word, and the word was there in 1984, 12345 times of 1,000,000, or 3.14159 %.

    for (std::size_t i = 0; i < size; ++i) {
        if (values[i] != expected[i]) return values[i] - expected[i];   // the first difference
    }
def encode(text, allowed=None):\r\n\treturn [token for token in self.tokens(text) if token not in (allowed or [])]\r\n
Быстрая коричневая лиса прыгает через ленивую собаку, и собака не против. Все счастливые семьи похожи друг на друга.
Η γρήγορη καφέ αλεπού πηδάει πάνω από το τεμπέλικο σκυλί. Ξεσκεπάζω την ψυχοφθόρα βδελυγμία.
敏捷的棕色狐狸跳过懒狗。我们的时间不多了,我们的书在这里。すばやい茶色の狐がのろまな犬を飛び越えた。東京都は日本の首都です。
빠른 갈색 여우가 게으른 개를 뛰어넘는다. 한국어는 아름답다. الثعلب البني السريع يقفز فوق الكلب الكسول. עברית קלה.
तेज़ भूरी लोमड़ी आलसी कुत्ते के ऊपर से कूदती है। สุนัขจิ้งจอกสีน้ำตาลกระโดดข้ามสุนัขขี้เกียจ
🙂🙃 👩‍👩‍👧‍👦 🇩🇪🇫🇷 ❤️ ½ ² Ⅷ ① ٣٤٥ ५६७ – — … “quoted” ‘single’ café cafe\u0301 naïve ﬁ Ǆ ſ K
"""

CASES = [
    "", " ", "a", "Hello, world!", "the fox doesn't, IT'S; we'LL 'S 'ſ we’ll I'll'd", "   leading and trailing   ",
    "tabs\tand\t\tmore\n\n\nlines  \n  \r\n\r\n end\n", "x = 12345678 + 0.5e-10; // 1000000", "a" * 70, "ab" * 60 + " " * 33 + "z",
    "日本語と中文と한국어 mixed with English", "Быстрая лиса и ΨΥΧΗ", "🙂👩‍👩‍👧‍👦🇩🇪❤️ emoji🙂text", "½ ² Ⅷ ① ٣٤٥ ५६७ digits",
    "cafe\u0301 e\u0301\u0301 \u0301 combining", "nul \x00 \x01\x02 bell \x07 esc \x1b[0m del \x7f c1 \x80 \x9f",
    "spaces:\u00a0\u2003\u3000\u2028\u2029\u0085\u1680\u180e\u200b\ufeff.", "\u3000\u3000 \n \u3000x", "private \ue000 \U000f0000 \uffff \U0010ffff",
    "<|endoftext|>", "a<|endoftext|>b<|endoftext|><|endoftext|>", "<|endoftext|", "<|begin|>text<|end|> <|begin|>", "<tool>call</tool> <tool>s",
    "ＦＵＬＬ　ｗｉｄｔｈ １２３", "ﷺ ﬁ ǅ", "'", "''s", "don't've", "12'34\"56", "_under_score__", "#include <vector>\n\n\n#define X\n", "\r\r\n\n\r", " \n", "\n ", "a\n b",
    "return values[i] - expected[i];", "x  y   z    w", "1 22 333 4444 55555", "\U0001F600\u200d\U0001F468",
] + TEXT.splitlines(keepends=True)


def trainer(size, specials):
    return trainers.BpeTrainer(vocab_size=size, special_tokens=specials, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())


def write(name, tokenizer):
    (HERE / name).write_text(json.dumps(json.loads(tokenizer.to_str()), ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


def ids(tokenizer, **options):
    return [tokenizer.encode(text, **options).ids for text in CASES]


def main():
    HERE.mkdir(exist_ok=True)
    (HERE / "text.txt").write_bytes(TEXT.encode())
    cases = {"texts": CASES}

    gpt2 = Tokenizer(models.BPE())
    gpt2.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    gpt2.decoder = decoders.ByteLevel()
    gpt2.train_from_iterator([TEXT], trainer(420, [END]))
    write("gpt2.json", gpt2)
    gpt2.model.save(str(HERE), "gpt2")
    cases["gpt2"] = ids(gpt2, add_special_tokens=False)
    gpt2.encode_special_tokens = True
    cases["gpt2_as_text"] = ids(gpt2, add_special_tokens=False)
    gpt2.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    cases["gpt2_prefix_space"] = ids(gpt2, add_special_tokens=False)

    llama3 = Tokenizer(models.BPE(ignore_merges=True))
    split = pre_tokenizers.Split(Regex(CL100K), "isolated")
    llama3.pre_tokenizer = pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    llama3.decoder = decoders.ByteLevel()
    llama3.train_from_iterator([TEXT], trainer(460, []))
    ranks = {bytes_of(token): rank for token, rank in llama3.get_vocab().items()}
    (HERE / "cl100k.tiktoken").write_text("".join(f"{base64.b64encode(token).decode()} {rank}\n" for token, rank in sorted(ranks.items(), key=lambda item: item[1])))
    llama3.add_special_tokens([END, "<|begin|>", "<|end|>"])
    begin = llama3.token_to_id("<|begin|>")
    llama3.post_processor = processors.Sequence(
        [processors.ByteLevel(trim_offsets=False), processors.TemplateProcessing(single="<|begin|> $A", special_tokens=[("<|begin|>", begin)])])
    write("llama3.json", llama3)
    cases["llama3"] = ids(llama3)
    llama3.encode_special_tokens = True
    cases["llama3_as_text"] = ids(llama3, add_special_tokens=False)

    digits = Tokenizer(models.BPE())
    words = pre_tokenizers.Split(Regex(r"\p{Han}|[^\s\p{P}]+[\p{P}]?|\p{P}"), "removed", invert=True)
    digits.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), words, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    digits.decoder = decoders.ByteLevel()
    digits.train_from_iterator([TEXT], trainer(330, ["<unk>"]))
    digits.add_tokens([AddedToken("<tool>", normalized=True), AddedToken("</tool>", normalized=False), AddedToken("<tool>call", normalized=True)])
    write("digits.json", digits)
    cases["digits"] = ids(digits)

    peer = tiktoken.Encoding("small", pat_str=CL100K, mergeable_ranks=ranks, special_tokens={END: 1000})
    cases["tiktoken"] = [peer.encode(text, allowed_special={END}, disallowed_special=()) for text in CASES]
    cases["tiktoken_as_text"] = [peer.encode_ordinary(text) for text in CASES]
    (HERE / "cases.json").write_text(json.dumps(cases, ensure_ascii=True, separators=(",", ":")) + "\n")


def bytes_of(token):
    """The bytes for which a token's characters stand in a byte-level vocabulary."""
    visible = [*range(33, 127), *range(161, 173), *range(174, 256)]
    byte_of = {chr(byte): byte for byte in visible}
    byte_of.update({chr(256 + i): byte for i, byte in enumerate(byte for byte in range(256) if byte not in visible)})
    return bytes(byte_of[character] for character in token)


if __name__ == "__main__":
    main()
