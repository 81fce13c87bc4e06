#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Do the rooms of the source tree import one way?

usage: imports.py [--objects BUILD] [ROOT]

A room is a folder. The table below says which others each room may include;
they stand in order, so that no two can include each other. Of another room of
the library, only the header named like the room may be included: the rest is
its own. With --objects, what the library's objects call is held against the
same table, because donard/donard.h declares calls of every room. In some rooms
the files, each with its header, go one way too: none needs itself in a circle,
by its includes and, with --objects, by its calls. BUILD has the objects of make
userspace, or in kernel/ those of the module.

Prints FILE:LINE: what is wrong, and exits with 1; 0 if nothing is.
"""
import argparse
import pathlib
import re
import subprocess
import sys

# Each room with the rooms whose headers it may include: only rooms above it in this table.
ROOMS = {
    "include/uapi": [],
    "include/donard": [],
    "include/donard-lab": [],
    "words": [],
    "kernel/compat": ["include/uapi"],
    "kernel": ["kernel/compat", "include/uapi"],
    "kernel/ntb": ["kernel", "kernel/compat", "include/uapi"],
    "lib/base": ["include/donard"],
    "lib/region": ["lib/base", "include/donard", "include/uapi"],
    "lib/memory": ["lib/region", "lib/base", "include/donard", "include/uapi"],
    "lib/gpu": ["lib/memory", "lib/region", "lib/base", "include/donard", "include/uapi"],
    "lib/drive": ["lib/region", "lib/base", "include/donard", "include/uapi"],
    "lib/ring": ["lib/drive", "lib/region", "lib/base", "include/donard", "include/uapi"],
    "lib/join": ["lib/drive", "lib/memory", "lib/region", "lib/base", "include/donard", "include/uapi"],
    "lib/copy": ["lib/join", "lib/ring", "lib/drive", "lib/gpu", "lib/memory", "lib/region", "lib/base", "include/donard"],
    "lib/queue": ["lib/join", "lib/ring", "lib/drive", "lib/memory", "lib/region", "lib/base", "include/donard", "include/uapi"],
    "lib/rdma": ["lib/gpu", "lib/memory", "lib/region", "lib/base", "include/donard"],
    "lib/cache": ["lib/queue", "lib/rdma", "lib/drive", "lib/memory", "lib/region", "lib/base", "include/donard"],
    "lib/meter": ["include/donard"],
    "lib/cufile": ["words", "include/donard"],
    "nbd": ["words", "include/donard"],
    "tool": ["words", "include/donard"],
    "tool/rdma": ["tool", "include/donard"],
    "cli/doctor": ["tool", "include/donard"],
    "cli": ["cli/doctor", "tool/rdma", "tool", "include/donard"],
    "bench": ["tool/rdma", "tool", "include/donard", "include/uapi"],
}
# Single headers that other rooms may include, too: module and library have one release, CUDA's numbers are CUDA's, and the doctor and the
# meters are built with some files of other rooms that need nothing else of those.
SHARED = {"include/donard/version.h": ["kernel"], "kernel/path.h": ["cli/doctor"], "kernel/pmr.h": ["lib/region"],
          "lib/base/clock.h": ["lib/meter"], "lib/base/failure.h": ["lib/meter"], "lib/base/handle.h": ["lib/meter"], "lib/base/sized.h": ["lib/meter"],
          "lib/gpu/cuda.h": ["lib/cufile"], "lib/base/files.h": ["cli/doctor", "lib/meter"], "lib/base/letters.h": ["lib/cufile"], "lib/base/mounts.h": ["lib/cufile", "lib/drive"], "lib/base/bdf.h": ["cli", "cli/doctor"], "lib/base/pcibar.h": ["cli/doctor"], "lib/base/pciconfig.h": ["cli/doctor", "bench"], "lib/base/nodes.h": ["cli"], "lib/base/printable.h": ["tool", "cli", "cli/doctor", "lib/region", "lib/cache", "lib/cufile"], "lib/base/rights.h": ["cli/doctor"],
          "lib/base/uring_refused.h": ["cli/doctor"]}
# Separate libraries, which link only libdonard's public calls. libdonard's rooms know nothing of them.
LINKED = ["lib/cufile", "lib/meter"]
OF_LINKED = {"include/donard/meter.h": "lib/meter"}
# Rooms whose files call one another in one direction. Not lib/cufile: fork() takes the locks of all its files, and closing the driver ends
# the objects of each of them.
LAYERED = ["tool", "tool/rdma", "nbd", "cli", "cli/doctor", "bench", "lib/base", "lib/region", "lib/memory", "lib/gpu", "lib/drive", "lib/ring", "lib/join", "lib/meter", "lib/copy", "lib/queue", "lib/rdma", "lib/cache", "kernel", "kernel/ntb"]
# Only these files may include the lab's headers.
LAB = {"lib/meter/lab.c"}
SEARCHED = ["include", "lib", "tool", "."]
INCLUDE = re.compile(r'\s*#\s*include\s*(["<])([^">]+)[">]')


def room_of(path):
    """The innermost room that holds the file, or None."""
    for parent in pathlib.PurePosixPath(path).parents:
        if str(parent) in ROOMS:
            return str(parent)
    return None


def resolve(root, path, name):
    """The file of the project that an include means, or None."""
    folders = [str(pathlib.PurePosixPath(path).parent), *SEARCHED]
    for folder in folders:
        found = (root / folder / name).resolve()
        if found.is_file() and found.is_relative_to(root):
            return found.relative_to(root).as_posix()
    return None


def fault(path, target):
    """What is wrong with this file including that one, or None."""
    here, there = room_of(path), room_of(target)
    if there == "include/donard-lab":
        return None if path in LAB or here == there else f"only {', '.join(LAB)} may include what is the lab's"
    if here == there or here in SHARED.get(target, []):
        return None
    if here.startswith("lib/") and OF_LINKED.get(target, here) != here:
        return f"{here} may not know {target}, which another library is for"
    if there not in ROOMS[here]:
        allowed = ", ".join(ROOMS[here]) or "nothing"
        return f"{here} may not include {there}; it may include {allowed}"
    door = f"{there}/{there.rpartition('/')[2]}.h"
    if there.startswith("lib/") and target != door:
        return f"{target} is private to {there}; what {there} offers is in {door}"
    return None


def stem(path):
    """A file and its header are one: tool/help."""
    return str(pathlib.PurePosixPath(path).with_suffix(""))


def circle(edges):
    """A list [a, b, a] of names that need each other, or None."""
    done = set()

    def search(name, trail):
        if name in trail:
            return [*trail[trail.index(name):], name]
        if name in done:
            return None
        for other in sorted(edges.get(name, ())):
            found = search(other, [*trail, name])
            if found:
                return found
        done.add(name)
        return None

    return next(filter(None, (search(name, []) for name in sorted(edges))), None)


def circle_faults(verb, pairs):
    """Of pairs of files, the first of which needs the second."""
    edges = {}
    for path, target in pairs:
        room = room_of(path)
        if room in LAYERED and room == room_of(target) and stem(path) != stem(target):
            edges.setdefault(room, {}).setdefault(stem(path), set()).add(stem(target))
    for room in LAYERED:
        found = circle(edges.get(room, {}))
        if found:
            yield f"{room}: {f' {verb} '.join(found)}: files of {room} go one way"


def includes_in(root, path):
    """(line number, name, its quote, the project's file that it is or None) of each include."""
    for number, line in enumerate((root / path).read_text().splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match[2], match[1], resolve(root, path, match[2])


def faults_in(root, path):
    for number, name, quote, target in includes_in(root, path):
        if target is None and quote == '"':
            yield f"{path}:{number}: {name} is no file of the project"
        elif target is not None and room_of(target):
            wrong = fault(path, target)
            if wrong:
                yield f"{path}:{number}: {wrong}"


def sources(root):
    for room in ROOMS:
        for path in sorted((root / room).rglob("*.[ch]")):
            name = path.relative_to(root).as_posix()
            if room_of(name) == room:
                yield name


def include_faults(root):
    pairs = []
    for path in sources(root):
        yield from faults_in(root, path)
        pairs += [(path, target) for *_, target in includes_in(root, path) if target]
    yield from circle_faults("includes", pairs)


def symbols(root, build):
    """Of the objects: what each defines, and what it needs."""
    defines, needs, names = {}, [], {}
    for path in sorted(found for rooms in ("lib/*", "words", "tool", "tool/*", "cli", "cli/*", "bench", "nbd", "kernel", "kernel/*") for found in build.glob(f"{rooms}/*.o")):
        name = path.relative_to(build).with_suffix(".c").as_posix()
        if (root / name).exists():  # else of a file that is no more
            names[str(path)] = name
    if not names:
        return defines, needs
    # One call, because nm takes a tenth of a second to start.
    listing = subprocess.run(["nm", "-A", *names], check=True, capture_output=True, text=True).stdout
    for line in listing.splitlines():
        path, _, rest = line.rpartition(":")
        *_, kind, symbol = rest.split()
        if kind == "U":
            needs.append((names[path], symbol))
        elif kind in "TDRB":
            defines[symbol] = names[path]
    return defines, needs


def call_faults(root, build):
    defines, needs = symbols(root, build)
    if not defines:
        yield f"{build}: no objects; run make userspace, or build the module first"
    calls = [(path, symbol, defines[symbol]) for path, symbol in needs if symbol in defines]
    for path, symbol, target in calls:
        if path.startswith("lib/") and room_of(path) not in LINKED and room_of(target) not in [room_of(path), *ROOMS[room_of(path)]]:
            yield f"{path}: calls {symbol}() of {target}: {room_of(path)} may not use {room_of(target)}"
    yield from circle_faults("calls", ((path, target) for path, _, target in calls))


def table_faults():
    """The table itself goes one way."""
    order = list(ROOMS)
    for room, allowed in ROOMS.items():
        for other in allowed:
            if order.index(other) >= order.index(room):
                yield f"{__file__}: {room} may include {other}, which does not stand above it in the table"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--objects", type=pathlib.Path)
    parser.add_argument("root", nargs="?", type=pathlib.Path, default=pathlib.Path("."))
    options = parser.parse_args()
    found = [*table_faults(), *include_faults(options.root.resolve())]
    if options.objects:
        found += call_faults(options.root, options.objects)
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
