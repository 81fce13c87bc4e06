#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Declarations for the Python binding, from the library's own headers.

usage: pydeclarations.py [--cc CC] [--print] FILE HEADER...

Lets the compiler's preprocessor read the headers, keeps what they declare
themselves and every DONARD_ constant that is an integer, and has cffi write FILE
of it: a Python module, without compiled code. Nothing is declared twice: what
changes in a header changes in the binding.

--print shows the declarations and writes nothing.
"""
import argparse
import contextlib
import io
import pathlib
import re
import subprocess
import sys

# Types of the system's headers that donard's use and cffi does not know.
PREAMBLE = "typedef int pid_t;\n"
LINE_MARKER = re.compile(r'# \d+ "([^"]*)"')
CONSTANT = re.compile(r"#define (DONARD_\w+) (.+)")
INTEGER = re.compile(r"[\s()0-9a-fA-FxXuUlL<|+*-]+")


def value_of(expression):
    """The number that an expression of literals means, or None: of a text, or of another macro."""
    if not INTEGER.fullmatch(expression):
        return None
    return eval(re.sub(r"(\d)[uUlL]+", r"\1", expression), {"__builtins__": {}})  # literals and operators alone


def own_lines(text, headers):
    """Of what the preprocessor says, the lines that stand in one of the headers."""
    mine = False
    for line in text.splitlines():
        marker = LINE_MARKER.match(line)
        if marker:
            mine = pathlib.Path(marker[1]).resolve() in headers
        elif mine:
            yield line


def declarations(cc, paths):
    headers = {path.resolve() for path in paths}
    source = "".join(f'#include "{path}"\n' for path in sorted(headers))
    text = subprocess.run([*cc.split(), "-E", "-dD", "-x", "c", "-"], input=source, check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    code, constants = [], []
    for line in own_lines(text, headers):
        match = CONSTANT.match(line)
        if match and value_of(match[2]) is not None:
            constants.append(f"#define {match[1]} {value_of(match[2])}")
        elif not line.startswith("#"):
            code.append(line)
    return PREAMBLE + "\n".join([*constants, *filter(str.strip, code)]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cc", default="cc", help="the C compiler")
    parser.add_argument("--print", action="store_true", help="show the declarations")
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("header", type=pathlib.Path, nargs="+")
    options = parser.parse_args()
    text = declarations(options.cc, options.header)
    if options.print:
        print(text, end="")
        return
    try:
        import cffi
    except ImportError:
        sys.exit(f"pydeclarations: {sys.executable} has no cffi. On Debian: apt install python3-cffi, and PYTHON=/usr/bin/python3")
    ffi = cffi.FFI()
    ffi.set_source("donard._declarations", None)
    ffi.cdef(text)
    with contextlib.redirect_stdout(io.StringIO()):  # it says what it does
        ffi.emit_python_code(str(options.file))
    written = options.file.read_text()
    options.file.write_text("# SPDX-License-Identifier: Apache-2.0\n" + written)


if __name__ == "__main__":
    main()
