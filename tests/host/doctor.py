#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What donard-cli doctor says of machines that are described in tests/data/machines.

usage: doctor.py golden PROGRAM [--update]    both of its outputs, against expected.txt and expected.json
       doctor.py codes PROGRAM PAGE           its codes, against a page that has "### CODE (SEVERITY)" for each
       doctor.py symptoms PAGE                its tables quote messages as the sources have them
       doctor.py expand MACHINE FOLDER        the folders of one machine, to look at
       doctor.py captured PROGRAM             what it says of this machine, and of what capture took of it
"""
import difflib
import json
import pathlib
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import machines  # noqa: E402  beside this file

# Messages of others that the page explains.
FOREIGN = ("modprobe", "rmmod", "could not insert", "Key was rejected by service", "Permission denied",
           "Input/output error", "Invalid argument", "Bus error", "Module p2pmem is in use", "Module p2pmem not found")
# Findings that need this machine, its user or its devices: tests/guest/routes.sh
# has all but locked-memory, and tests/guest/gpu.sh those of GPUs; where predictions differ, the first fails.
LIVE = {"not-in-group", "node-forbidden", "node-missing", "drive-closed", "container", "sysfs-hidden", "locked-memory",
        "not-root", "prediction-differs", "not-delivered", "not-probed", "unlisted-bridge-forwards", "gpu-small-bar1",
        "gpu-no-cuda"}
# Facts that come from a GPU's driver and from the module.
ASKED = ("cuda_number", "memory", "predicted_by")
HERE = pathlib.Path(__file__).resolve().parent.parent / "data/machines"


def examine(program, *words):
    """What it printed, and its exit status in front."""
    done = subprocess.run([program, "doctor", *words], capture_output=True, text=True, check=False)
    return f"exit status {done.returncode}\n{done.stderr}{done.stdout}"


def differences(expected, seen):
    before = expected.read_text() if expected.exists() else ""
    return list(difflib.unified_diff(before.splitlines(), seen.splitlines(), f"{expected.parent.name}/{expected.name}",
                                     "seen", lineterm=""))


def facts(text):
    """The JSON, checked to be JSON, without what differs from one release to the next."""
    status, _, body = text.partition("\n")
    return f"{status}\n{json.dumps(json.loads(body), indent=1, sort_keys=True)}\n"


def all_codes(program):
    """{code: severity} by its table."""
    said = subprocess.run([program, "doctor", "--codes", "--json"], capture_output=True, check=True).stdout
    return {code["code"]: code["severity"] for code in json.loads(said)["codes"]}


def codes_seen():
    """Those of some golden output."""
    return {finding["code"] for path in HERE.glob("*/expected.json")
            for finding in json.loads(path.read_text().partition("\n")[2])["findings"]}


def golden(program, update):
    wrong = 0
    for machine in sorted(HERE.glob("*/machine.txt")):
        with tempfile.TemporaryDirectory() as root:
            machines.expand(machine.read_text(), root)
            seen = {"expected.txt": examine(program, "--root", root),
                    "expected.json": facts(examine(program, "--root", root, "--json"))}
        for name, text in seen.items():
            difference = differences(machine.parent / name, text)
            if difference and update:
                (machine.parent / name).write_text(text)
            elif difference:
                wrong += 1
                print("\n".join(difference))
    for code in sorted(all_codes(program).keys() - codes_seen() - LIVE):
        print(f"no machine of {HERE} has {code}")
        wrong += 1
    if wrong:
        print(f"after looking at each difference: {sys.argv[0]} golden {program} --update")
    return wrong


def codes(program, page):
    table = set(all_codes(program).items())
    described = re.findall(r"^### ([a-z0-9-]+) \(([a-z]+)\)$", pathlib.Path(page).read_text(), re.M)
    for pair in sorted(table - set(described)):
        print(f"{page}: nothing is said of {pair[0]} ({pair[1]})")
    for pair in sorted(set(described) - table):
        print(f"{page}: {pair[0]} ({pair[1]}) is no code of {program}")
    if len(described) != len(set(described)):
        print(f"{page}: a code is described twice")
    return len(table ^ set(described)) + len(described) - len(set(described))


def machine_facts(program, *words):
    """What doctor says, without what only a living machine tells."""
    _, _, body = examine(program, *words, "--json").partition("\n")
    said = json.loads(body)
    said["findings"] = [finding for finding in said["findings"] if finding["code"] not in LIVE]
    for what in ("gpus", "pairs"):
        said[what] = [{key: value for key, value in one.items() if key not in ASKED} for one in said[what]]
    return json.dumps(said, indent=1, sort_keys=True).splitlines()


def captured(program):
    taken = subprocess.run([HERE / "capture"], capture_output=True, text=True, check=True).stdout
    with tempfile.TemporaryDirectory() as root:
        machines.expand(taken, root)
        difference = list(difflib.unified_diff(machine_facts(program), machine_facts(program, "--root", root), "this machine",
                                               "what was captured of it", lineterm=""))
    print("\n".join(difference))
    return len(difference)


def sources():
    """All of ours, with strings that go on in the next line made one."""
    root = HERE.parent.parent.parent
    text = "\n".join(path.read_text() for room in ("lib", "kernel", "cli", "tool", "words") for path in sorted((root / room).rglob("*.c")))
    return re.sub(r'"\s*\n\s*"', "", text)


def quotes(page):
    """(line number, part of a message) of the first column: without what differs from case to case."""
    for number, line in enumerate(pathlib.Path(page).read_text().splitlines(), 1):
        if line.startswith("| `"):
            for message in re.findall(r"`([^`]+)`", line.split(" | ")[0]):
                for part in re.split(r"\.\.\.|\bBDF\b|\bX\b|\bN\b|/dev/p2pmem0|p2pmem0|[:,]", message):
                    yield number, part.strip()


def symptoms(page):
    source = sources()
    wrong = [f"{page}:{number}: no source says '{part}'" for number, part in quotes(page)
             if part not in source and not any(word in part for word in FOREIGN)]
    print("\n".join(wrong))
    return len(wrong)


def main():
    what, *words = sys.argv[1:]
    if what == "golden":
        return bool(golden(words[0], "--update" in words))
    if what == "captured":
        return bool(captured(*words))
    if what == "codes":
        return bool(codes(*words))
    if what == "symptoms":
        return bool(symptoms(*words))
    machines.expand((HERE / words[0] / "machine.txt").read_text(), words[1])
    return 0


if __name__ == "__main__":
    sys.exit(main())
