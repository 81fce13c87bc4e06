#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What README.md and docs/install.md tell a person to type, and who types it in a test: tests/recipes says.

usage: recipes.py check         names each command that no test runs, and each row that nothing is meant by
       recipes.py STEP          prints the commands of a step, in the order of the rows, a line each
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = "README.md", "docs/install.md"
COMMENT = re.compile(r"\s+#\s.*$")
# A span of code that changes a machine is a command, wherever it stands.
SPAN = re.compile(r"`([^`]*\bsudo [^`]*)`")

STEPS = "module", "dkms", "packages", "booted", "removed", "lab"


def blocks_of(document):
    """Each indented block: (heading, its number below that, its lines); lines that go on are joined."""
    heading, number, lines, before = "", 0, [], ""
    for line in [*(ROOT / document).read_text(encoding="utf-8").split("\n"), ""]:
        if line.startswith("    ") and (lines or not before):
            if lines and lines[-1].endswith("\\"):
                lines[-1] = lines[-1][:-1].rstrip() + " " + line.strip()
            else:
                lines.append(line[4:])
        elif lines and line:
            raise SystemExit(f"{document}: text right behind a block: {line}")
        elif lines:
            number += 1
            yield heading, number, lines
            lines = []
        if line.startswith("#"):
            heading, number = line.lstrip("# "), 0
        before = line


def spans_of(document):
    prose = "\n".join(line for line in (ROOT / document).read_text(encoding="utf-8").split("\n") if not line.startswith("    "))
    return [" ".join(span.split()) for span in SPAN.findall(prose)]


def read_rows():
    """run: {(document, heading, number): step}; held: {command: suite}; shown: {(document, heading, number)}."""
    run, held, shown = {}, {}, set()
    for line in (ROOT / "tests/recipes").read_text(encoding="utf-8").split("\n"):
        kind, _, rest = line.partition(" ")
        if not line or line.startswith("#"):
            continue
        if kind == "held":
            suite, _, command = rest.strip().partition(": ")
            held[command] = suite
            continue
        step = None
        if kind == "run":
            step, _, rest = rest.strip().partition(" ")
            if step not in STEPS:
                raise SystemExit(f"tests/recipes: nobody types a step {step}: {line}")
        document, heading, number = rest.strip().split(": ")
        if kind == "run":
            run[document, heading, int(number)] = step
        elif kind == "shown":
            shown.add((document, heading, int(number)))
        else:
            raise SystemExit(f"tests/recipes: no such row: {line}")
    return run, held, shown


def suites():
    names = {path.stem for path in (ROOT / "tests/guest").glob("*.sh")}
    for line in (ROOT / "tests/matrix").read_text(encoding="utf-8").split("\n"):
        if line.startswith("host "):
            names.update(line.split()[2:])
    return names | {"none"}


def check():
    run, held, shown = read_rows()
    places, commands, faults = set(), set(), []
    for document in DOCUMENTS:
        for heading, number, lines in blocks_of(document):
            place = document, heading, number
            places.add(place)
            if place in shown:
                continue
            typed = [COMMENT.sub("", line) for line in lines]
            commands.update(typed)
            if place not in run:
                faults += [f"{document}: {heading}: {number}: no test runs: {line}" for line in typed if line not in held]
        spans = spans_of(document)
        commands.update(spans)
        faults += [f"{document}: no test runs: {span}" for span in spans if span not in held]
    faults += [f"tests/recipes: there is no block {': '.join(map(str, place))}" for place in {*run, *shown} - places]
    faults += [f"tests/recipes: nobody is told to type: {command}" for command in held if command not in commands]
    faults += [f"tests/recipes: no suite {suite}" for suite in {*held.values()} - suites()]
    print("\n".join(sorted(faults)) or f"{len(commands)} commands")
    return bool(faults)


def commands_of(step):
    run, held, _ = read_rows()
    blocks = {(document, *block[:2]): block[2] for document in DOCUMENTS for block in blocks_of(document)}
    for place in [place for place, of in run.items() if of == step]:
        for line in blocks[place]:
            if COMMENT.sub("", line) not in held:
                print(line)


if len(sys.argv) != 2:
    sys.exit(__doc__)
if sys.argv[1] == "check":
    sys.exit(check())
commands_of(sys.argv[1])
