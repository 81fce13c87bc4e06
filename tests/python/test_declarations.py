# SPDX-License-Identifier: Apache-2.0
"""What Python takes the library's structures for is what the compiler makes of them."""
import dataclasses
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import donard
from donard._declarations import ffi
from donard._library import lib, meter_lib

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = sorted((ROOT / "include/donard").glob("*.h"))


def structures():
    """Those that have members; the others are handles."""
    _, names, _ = ffi.list_types()
    for name in names:
        if ffi.typeof(f"struct {name}").fields is not None:
            yield name


def compiled(lines):
    """What a C program says that prints these numbers, by the headers."""
    source = "".join(f'#include "{header}"\n' for header in HEADERS) + "#include <stdio.h>\nint main(void)\n{\n"
    source += "".join(f'\tprintf("%s %lld\\n", "{name}", (long long)({value}));\n' for name, value in lines) + "}\n"
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "layout"
        subprocess.run([*os.environ.get("CC", "cc").split(), "-x", "c", "-o", program, "-"], input=source, text=True, check=True)
        out = subprocess.run([program], check=True, stdout=subprocess.PIPE, text=True).stdout
    return {name: int(value) for name, value in map(str.split, out.splitlines())}


class Declarations(unittest.TestCase):
    def test_layouts_are_the_compilers(self):
        expected, lines = {}, []
        for name in structures():
            ctype = ffi.typeof(f"struct {name}")
            expected[name] = ffi.sizeof(ctype)
            lines.append((name, f"sizeof(struct {name})"))
            for member, field in ctype.fields:
                expected[f"{name}.{member}"] = field.offset
                lines.append((f"{name}.{member}", f"offsetof(struct {name}, {member})"))
                expected[f"{name}.{member}:size"] = ffi.sizeof(field.type)
                lines.append((f"{name}.{member}:size", f"sizeof(((struct {name} *)0)->{member})"))
        self.assertGreater(len(expected), 300)
        self.assertEqual(compiled(lines), expected)

    def test_constants_are_the_compilers(self):
        names = sorted({name for header in HEADERS
                        for name in re.findall(r"\b(DONARD_[A-Z0-9_]+)\b(?![(_])", header.read_text())
                        if isinstance(getattr(lib, name, None), int)})
        self.assertGreater(len(names), 90)
        self.assertEqual(compiled([(name, name) for name in names]), {name: getattr(lib, name) for name in names})

    def test_each_flag_of_the_headers_is_declared(self):
        for header in HEADERS:
            for name in re.findall(r"^#define (DONARD_\w+)\t+\(?\d", header.read_text(), re.M):
                self.assertIsInstance(getattr(lib, name, None), int, name)

    def test_each_function_of_the_map_can_be_called(self):
        for library, path, fewest in ((lib, "lib/libdonard.map", 60), (meter_lib, "lib/meter/libdonard-meter.map", 8)):
            names = re.findall(r"^\t\t(donard_\w+);$", (ROOT / path).read_text(), re.M)
            self.assertGreater(len(names), fewest)
            for name in names:
                self.assertEqual(ffi.typeof(getattr(library, name)).kind, "function", name)


# Declared, and without a place in the package, as docs/library.md says, which names those that are no helpers of C programs.
LEFT_OUT_HEADERS = {"rdma.h", "cache.h", "gpu.h"}
LEFT_OUT = {"donard_memory_from_host", "donard_memory_from_cuda", "donard_memory_alloc_cuda", "donard_memory_open",
            "donard_meter_own_of", "donard_region_add", "donard_region_remove", "donard_region_set_page_type",
            "donard_region_set_pinned_importers"}
OF_C = {"donard_fail", "donard_error", "donard_error_code", "donard_sysfs_root", "donard_parse_size", "donard_format_size",
        "donard_region_list_parts", "donard_route_verdict", "donard_meter_name"}


# Whose errors are for who writes C: they find a handle that was freed, and a meter that nobody began.
ERRORS_OF_C = {"lib/base/handle.c", "lib/meter/choose.c"}


def calls_of_package():
    package = "".join(path.read_text() for path in sorted((ROOT / "python/donard").glob("*.py")))
    return set(re.findall(r"lib(?:\.|, \")(donard_\w+)", package))


def calls_in_errors():
    for path in sorted((ROOT / "lib").rglob("*.c")):
        if str(path.relative_to(ROOT)) not in ERRORS_OF_C:
            for literal in re.findall(r'"(?:[^"\\\n]|\\.)*"', path.read_text()):
                yield from re.findall(r"\b(donard_\w+)\(\)", literal)


class Package(unittest.TestCase):
    """Who looks for a call of the library's finds it, or reads that it is not there."""

    def test_what_is_left_out_is_known(self):
        called = calls_of_package()
        lists = {f"donard_{what}_{call}" for what in ("region", "client", "candidate")
                 for call in ("count", "get", "list_free")}
        missing = set()
        for header in HEADERS:
            if header.name not in LEFT_OUT_HEADERS:
                missing |= set(re.findall(r"^\w[\w *]*\b(donard_\w+)\(", header.read_text(), re.M)) - called
        words = {name for name in missing if name.endswith(("_text", "_of"))} - LEFT_OUT
        self.assertEqual(missing - words - lists, LEFT_OUT | OF_C)

    def test_errors_name_what_is_here_as_it_is_called_here(self):
        named = calls_of_package() & set(calls_in_errors())
        self.assertGreater(len(named), 5)
        self.assertEqual({call for call in named if call + "()" not in donard._errors._WORDS}, set())


class Records(unittest.TestCase):
    """A member that a structure gains must come to Python."""

    def check(self, record, structure, without=(), more=()):
        members = {name for name, _ in ffi.typeof(f"struct {structure}").fields} - {"size", "reserved", *without}
        self.assertEqual(members | set(more), {field.name for field in dataclasses.fields(record)}, structure)

    def test_records_have_each_member(self):
        self.check(donard.Region, "donard_region_info")
        self.check(donard.Client, "donard_client_info", without=["namespace_count"])
        self.check(donard.Candidate, "donard_candidate_info")
        self.check(donard.Route, "donard_route")
        self.check(donard.RegionCounts, "donard_region_counts")
        self.check(donard.DriveCounts, "donard_drive_counts")
        self.check(donard.MemoryInfo, "donard_memory_info")
        self.check(donard.FileInfo, "donard_file_info", without=["client_count", "leg_count"], more=["clients", "legs"])
        self.check(donard.Leg, "donard_leg")
        self.check(donard.QueueInfo, "donard_queue_info")
        self.check(donard.CopyResult, "donard_copy_result", without=["leg_count"], more=["measurement"])
        self.check(donard.Measurement, "donard_measurement", without=["known", "count"], more=["counts"])
        self.check(donard.Completion, "donard_completion", without=["error_code", "failure", "flags"], more=["bounced", "registered", "volatile"])
        self.check(donard.CacheInfo, "donard_cache_info")

    def test_options_have_each_member(self):
        import inspect

        from donard._copy import copy_with
        named = set(inspect.signature(copy_with).parameters) - {"context", "src", "dst", "progress", "verify", "allow_bounce",
                                                                "allow_unlisted", "force_bounce", "passthrough", "meter"}
        members = {name for name, _ in ffi.typeof("struct donard_copy_options").fields}
        self.assertEqual(members - {"size", "flags", "progress_fn", "progress_user", "begin_fn", "end_fn", "interval_user"},
                         named)

    def test_a_connection_has_each_option(self):
        import inspect

        members = {name for name, _ in ffi.typeof("struct donard_cache_options").fields}
        named = set(inspect.signature(donard.Queue.connect).parameters) - {"self"}
        self.assertEqual(members - {"size", "reserved", "flags", "stop_fn", "user"}, named)
        for name in named:
            self.assertRegex(donard.Queue.connect.__doc__, rf"\b{name}:")

    def test_each_option_of_a_copy_is_explained(self):
        import inspect

        from donard._copy import copy_with
        for name in list(inspect.signature(copy_with).parameters)[1:]:
            self.assertRegex(donard.copy.__doc__ + " src dst", rf"\b{name}\b")


if __name__ == "__main__":
    unittest.main()
