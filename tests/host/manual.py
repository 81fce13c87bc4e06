#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""manual.py PROGRAM PAGE... - compares the COMMANDS of a program's manual pages with its command table.

Each subsection's title names commands with their arguments; the items in it that begin with an option are,
with what they take, exactly the options of these commands. --json and --help are described once for all.
An item states the limits of its numbers, "1 to 4096", exactly as the table has them.
"""
import re
import subprocess
import sys

SAID_ONCE = {"--json", "--help"}
LIMITS = re.compile(r"\b\d+ to \d+\b")


def plain(roff):
    """The text of a line of roff, without fonts, quotes and escapes."""
    text = re.sub(r"^\.(SS|BI|BR|B|TP)\s*", "", roff)
    text = re.sub(r"\\f[A-Z]", "", text).replace('"', "").replace("\\-", "-")
    return re.sub(r"\s+", " ", text).strip()


def read_table(program):
    """{command: (arguments, {option: (what it takes, limits)})}, without the prefix of a table that is another's."""
    dump = subprocess.run([program, "--dump-commands"], check=True, capture_output=True, text=True).stdout
    table = {}
    for line in dump.splitlines():
        what, name, *rest = line.split("\t")
        if program.endswith("donard-bench"):
            name = name.removeprefix("bench ")
        if what == "command":
            table[name] = (rest[0], {})
        elif rest[0] not in SAID_ONCE:
            table[name][1][rest[0]] = (rest[1], rest[3])
    return table


def split_title(title, table):
    """[(command, arguments)] of "rdma write ADDR, rdma read ADDR"."""
    found = []
    for part in title.split(", "):
        name = max((name for name in table if part == name or part.startswith(name + " ")), key=len, default=part)
        found.append((name, part[len(name):].strip()))
    return found


def options_of_item(line):
    """{option: what it takes} of an item's first line: "--size SIZE, --offset SIZE"."""
    return {match[1]: match[2] or "" for match in re.finditer(r"(--[a-z0-9-]+)(?: ([A-Z]+))?", plain(line))}


def read_page(page, table):
    """[(line number, [(command, arguments)], [({option: what it takes}, text of the item)])] of COMMANDS."""
    sections, in_commands, item = [], False, False
    for number, line in enumerate(open(page, encoding="utf-8"), 1):
        if line.startswith(".SH"):
            in_commands = line.strip() == ".SH COMMANDS"
        elif in_commands and line.startswith(".SS"):
            sections.append((number, split_title(plain(line), table), []))
        elif item and sections and in_commands and plain(line).startswith("--"):
            sections[-1][2].append((options_of_item(line), ""))
        elif in_commands and sections and sections[-1][2]:
            options, text = sections[-1][2][-1]
            sections[-1][2][-1] = (options, text + " " + plain(line))
        item = line.startswith(".TP")
    return sections


def limit_faults(items, expected):
    """Of each item whose limits are not those of its options."""
    for options, text in items:
        here = set(LIMITS.findall(text))
        there = {expected[option][1] for option in options if option in expected} - {""}
        if here != there:
            yield f"{', '.join(options)}: the table has the limits {sorted(there)}, the page states {sorted(here)}"


def page_differences(page, table, seen):
    """Adds to seen the commands that the page describes."""
    for number, commands, items in read_page(page, table):
        expected, described = {}, {}
        for options, _ in items:
            described.update(options)
        for name, arguments in commands:
            if name not in table:
                yield f"{page}:{number}: '{name}' is no command"
                continue
            if name in seen:
                yield f"{page}:{number}: '{name}' is described twice"
            seen.add(name)
            expected.update(table[name][1])
            if arguments != table[name][0]:
                yield f"{page}:{number}: '{name}' takes '{table[name][0]}', the title says '{arguments}'"
        for option in sorted(expected.keys() | described.keys()):
            here, there = described.get(option), expected.get(option, (None, ""))[0]
            if here != there:
                yield (f"{page}:{number}: {commands[0][0]} {option}: takes {there!r} by the command table, "
                       f"{here!r} by the page (None: no such option)")
        for fault in limit_faults(items, expected):
            yield f"{page}:{number}: {fault}"


def differences(pages, table):
    seen = set()
    for page in pages:
        yield from page_differences(page, table, seen)
    for name in sorted(table.keys() - seen):
        yield f"{', '.join(pages)}: no subsection describes '{name}'"


def main():
    program, *pages = sys.argv[1:]
    found = list(differences(pages, read_table(program)))
    print("\n".join(found))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
