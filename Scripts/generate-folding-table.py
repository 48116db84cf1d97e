#!/usr/bin/env python3
"""Writes FoldingTableData.swift and CaseTableData.swift of Sources/PerdurePredicates/Folding from Python's unicodedata.

The tables never change: folded text is stored (derived attributes, index keys), so the same text must always
fold to the same bytes. Tables of another Unicode version are another version of the folding, which needs a new
number and a migration. So the script stops if Python has another Unicode version. Run it from the root of the
repository:

    python3 Scripts/generate-folding-table.py
"""

import sys
import unicodedata

VERSION = 1
UNICODE = "14.0.0"
FOLDER = "Sources/PerdurePredicates/Folding/"
SCALARS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
HANGUL = range(0xAC00, 0xD7A4)


def nfd(text):
    return unicodedata.normalize("NFD", text)


def hexes(text):
    return "+".join(f"{ord(c):X}" for c in text)


def decompositions():
    """Scalars with a canonical decomposition, in full; Hangul syllables are computed, not listed."""
    for c in SCALARS:
        if c not in HANGUL and nfd(chr(c)) != chr(c):
            yield f"{c:X}:{hexes(nfd(chr(c)))}"


def foldings():
    """Full case foldings, decomposed, of scalars that do not decompose. Runs of equal distance are one entry."""
    single = []
    for c in SCALARS:
        folded = nfd(chr(c).casefold())
        if folded == chr(c) or nfd(chr(c)) != chr(c):
            continue
        if len(folded) == 1:
            single.append((c, ord(folded) - c))
        else:
            yield f"{c:X}:{hexes(folded)}"
    yield from runs(single)


def runs(single):
    """Runs of scalars with the same distance to their mapping. A run has every scalar, or every second one."""
    while single:
        first, distance = single[0]
        step = single[1][0] - first if len(single) > 1 else 1
        count = 1
        while count < len(single) and single[count] == (first + count * step, distance) and step in (1, 2):
            count += 1
        last = single[count - 1][0]
        yield f"{first:X}-{last:X}/{step if count > 1 else 1}{distance:+X}"
        del single[:count]


def case_mappings(mapped):
    """The scalars beyond ASCII that the mapping changes, each mapped alone."""
    single = []
    for c in SCALARS:
        other = mapped(chr(c))
        if c < 0x80 or other == chr(c):
            continue
        if len(other) == 1:
            single.append((c, ord(other) - c))
        else:
            yield f"{c:X}:{hexes(other)}"
    yield from runs(single)


def ranges(value_of):
    """Ranges of scalars with the same value, except for the value None."""
    start, current = 0, None
    for c in range(0x110001):
        value = value_of(chr(c)) if c < 0x110000 else None
        if value != current:
            if current is not None:
                yield f"{start:X}-{c - 1:X}={current:X}"
            start, current = c, value


def literal(name, comment, entries):
    lines, line = [], "   "
    for entry in entries:
        if len(line) + len(entry) + 4 > 110:
            lines.append(line + " \\")
            line = "   "
        line += " " + entry
    lines.append(line)
    body = "\n".join(lines)
    return f'  /// {comment}\n  static let {name}: StaticString = """\n{body}\n    """\n'


def main():
    if unicodedata.unidata_version != UNICODE:
        sys.exit(f"This Python has Unicode {unicodedata.unidata_version}; version {VERSION} is {UNICODE}.")
    write("FoldingTableData", [
        literal("decompositions", "`scalar:scalar+scalar...`: full canonical decompositions.", decompositions()),
        literal("foldings", "`first-last/step+distance` or `scalar:scalar+scalar...`: full case foldings.", foldings()),
        literal("marks", "`first-last=1`: nonspacing marks (general category Mn).",
                ranges(lambda c: 1 if unicodedata.category(c) == "Mn" else None)),
        literal("combiningClasses", "`first-last=class`: canonical combining classes other than 0.",
                ranges(lambda c: unicodedata.combining(c) or None)),
    ])
    form = "`first-last/step+distance` or `scalar:scalar+scalar...`: full mappings to"
    write("CaseTableData", [
        literal("lower", form + " lower case.", case_mappings(str.lower)),
        literal("upper", form + " upper case.", case_mappings(str.upper)),
    ])


def write(name, parts):
    head = (
        "// Written by Scripts/generate-folding-table.py; do not edit.\n"
        f"// Folding version {VERSION}, from the Unicode Character Database {UNICODE}. Numbers are hexadecimal.\n\n"
        f"enum {name} {{\n"
    )
    with open(f"{FOLDER}{name}.swift", "w", encoding="ascii") as file:
        file.write(head + "\n".join(parts) + "}\n")


main()
