#!/usr/bin/env python3
"""Makes the character tokens of tiny Shakespeare: make_tokens.py TEXT [FOLDER]

Writes into FOLDER (default: shakespeare/ beside this script)
  vocab.txt   one character a line in code point order, as a JSON string; token 0 first
  train.bin   the first 90 % of the text, little-endian uint16, one token a character
  val.bin     the last 10 %
"""

import json
import pathlib
import struct
import sys


def main():
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(__doc__.splitlines()[0])
    folder = pathlib.Path(sys.argv[2]) if len(sys.argv) == 3 else pathlib.Path(__file__).parent / "shakespeare"
    text = pathlib.Path(sys.argv[1]).read_text(encoding="ascii")
    characters = sorted(set(text))
    token = {c: i for i, c in enumerate(characters)}
    cut = len(text) * 9 // 10
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("".join(json.dumps(c) + "\n" for c in characters))
    for name, part in (("train", text[:cut]), ("val", text[cut:])):
        (folder / f"{name}.bin").write_bytes(struct.pack(f"<{len(part)}H", *(token[c] for c in part)))
        print(f"{name}.bin: {len(part)} tokens")


if __name__ == "__main__":
    main()
