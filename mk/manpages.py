#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Man pages of the libraries' functions, from the comments of their headers.

usage: manpages.py [--check] [--names] [--version V] --into DIR HEADER...

A function is documented by the comment before its declaration:

    /**
     * donard_example() - say what it does, in a few words
     * @ctx: every parameter by its name
     *
     * Paragraphs, where more is to be said.
     *
     * Returns 0; -EINVAL for what is wrong.
     */

The meaning of each errno is in the table at the top of donard.h. Fails, naming
FILE:LINE, where a function, a parameter, a result or an errno is left out;
--check does only that; --names prints the pages' names instead.
"""
import argparse
import pathlib
import re
import sys
import textwrap

FUNCTION = re.compile(r"^(?!typedef)([a-z][\w *]*?[ *])(donard_\w+)\(([^;]*)\);", re.M | re.S)
COMMENT = re.compile(r"/\*\*\n((?: \*(?!/)[^\n]*\n)+) \*/\n$")
STRUCT = re.compile(r"^(?:(/\*\*\n(?: \*(?!/)[^\n]*\n)+ \*/\n))?((?:struct|enum) (donard_\w+) \{.*?^\};)", re.M | re.S)
ERRNO = re.compile(r"-(E[A-Z0-9]+)\b")
TABLE_ROW = re.compile(r"^ \*   (E[A-Z0-9]+)\s+(.*)$", re.M)
# A constant, with a comment before it or behind it; and the bits of one set of flags, which no empty line parts.
NOTE = r"(?:/\*(?!\*)(?:[^*]|\*(?!/))*\*/)"
FLAG = r"(?:%s\n)?#define DONARD_\w+[ \t]+(?:\(1U << \d+\)|\d+U)[^\n]*\n" % NOTE
FLAGS = re.compile(r"^(?:%s)+" % FLAG, re.M)
NAMED = re.compile(r"(?:^[ \t]*(%s)\n)?^(?:[ \t]+|#define )(DONARD_\w+)[^\n/]*(%s)?" % (NOTE, NOTE), re.M)


class Doc:
    """What a comment says: a summary, @names, paragraphs, and what is returned."""

    def __init__(self, comment):
        lines = [line[2:].removeprefix(" ") for line in comment.rstrip("\n").split("\n")]
        self.title, _, self.summary = lines[0].partition(" - ")
        self.names, self.paragraphs, self.returns = [], [], None
        self._read(lines[1:])

    def _read(self, lines):
        paragraph = []
        for line in [*lines, ""]:
            match = re.match(r"@([^:]+): ?(.*)", line)
            if match:
                self.names.append([re.findall(r"\w+", match[1].replace("@", "")), match[2]])
            elif line.startswith("\t") and self.names and not paragraph:
                self.names[-1][1] += " " + line.strip()
            elif line.strip():
                paragraph.append(line.strip())
            elif paragraph:
                self._end(" ".join(paragraph))
                paragraph = []

    def _end(self, text):
        if text.startswith("Returns "):
            self.returns = text
        else:
            self.paragraphs.append(text)

    def documents(self):
        return [name for names, _ in self.names for name in names]


class Function:
    def __init__(self, path, text, match):
        self.path, self.name = path, match[2]
        self.line = text.count("\n", 0, match.start()) + 1
        self.prototype = re.sub(r"\s+", " ", match[0])
        self.returns_nothing = match[1].strip() == "void"
        self.result = match[1]
        self.parameters = self._names(match[3])
        self.types = set(re.findall(r"\b(?:struct|enum) (donard_\w+)", match[0]))
        comment = COMMENT.search(text[:match.start()])
        self.doc = Doc(comment[1]) if comment else None

    @staticmethod
    def _names(parameters):
        if parameters.strip() == "void":
            return []
        return [re.search(r"(\w+)(?:\[\])?$", one.strip())[1] for one in parameters.split(",")]

    def faults(self, table):
        if not self.doc:
            yield f"{self.name}() has no comment"
            return
        if self.doc.title != f"{self.name}()" or not self.doc.summary:
            yield f"the comment does not begin with '{self.name}() - what it does'"
        for name in self.parameters:
            if name not in self.doc.documents():
                yield f"{self.name}(): @{name} is not documented"
        for name in self.doc.documents():
            if name not in self.parameters:
                yield f"{self.name}(): there is no parameter @{name}"
        if self.returns_nothing == bool(self.doc.returns):
            yield f"{self.name}(): " + ("returns nothing" if self.returns_nothing else "no paragraph 'Returns ...'")
        for errno in ERRNO.findall(self.doc.returns or ""):
            if errno not in table:
                yield f"{self.name}(): {errno} is not in the table of donard.h"


def members(body):
    """Of a structure. The size is explained once, reserved ones have nothing to say."""
    plain = re.sub(r"/\*.*?\*/", "", body[body.index("{") + 1:], flags=re.S)
    found = [re.search(r"(\w+)\)?\s*(?:\[[^\]]*\]|\([^)]*\))?$", one.strip())
             for declaration in plain.split(";") for one in declaration.split(",") if one.strip() not in ("", "}")]
    return [match[1] for match in found if match and not match[1].startswith("reserved")]


def meanings(text):
    """What is said of each constant of an enumeration, or of a set of flags."""
    for before, name, behind in NAMED.findall(text):
        lines = (behind or before).removeprefix("/*").removesuffix("*/").split("\n")
        yield name, " ".join(line.strip().removeprefix("* ") for line in lines).strip()


class Type:
    def __init__(self, path, text, match):
        comment, self.body, self.name = match.groups()
        found = COMMENT.search(comment) if comment else None
        self.path, self.line = path, text.count("\n", 0, match.start(2)) + 1
        self.is_enum = self.body.startswith("enum")
        self.doc = Doc(found[1]) if found else None

    def faults(self, _):
        """A structure's members must be documented."""
        named = self.doc.documents() if self.doc else []
        for member in [] if self.is_enum else members(self.body):
            if member not in named:
                yield f"struct {self.name}: @{member} is not documented"


class Flags:
    """Bits that are given together: a text that says DONARD_EXAMPLE_* means the last set of that prefix before it."""

    def __init__(self, path, text, match):
        self.path, self.line = path, text.count("\n", 0, match.start()) + 1
        self.meanings = list(meanings(match[0]))

    def is_meant(self, holder, name):
        known = name in dict(self.meanings) or (name.endswith("_") and self.meanings[0][0].startswith(name))
        return known and self.path == holder.path and self.line < holder.line


def roff(text):
    """Text as roff: no hyphen or word of it is a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = re.sub(r"@(\w+)", r"\\fI\1\\fR", text)
    return re.sub(r"^([.'])", r"\\&\1", text)


def code(text):
    lines = text.expandtabs(8).split("\n")
    return [".nf", *(roff(line) if line else "\\&" for line in lines), ".fi"]


def tagged(names, text):
    return [".TP", ".I " + ", ".join(names), roff(text) or "\\&"]


def types_of(function, known):
    """Those of its parameters, and those of their members."""
    names = function.types & known.keys()
    for name in list(names):
        names |= set(re.findall(r"\benum (donard_\w+)", known[name].body)) & known.keys()
    return [known[name] for name in sorted(names, key=lambda name: (known[name].is_enum, name))]


def flags_meant(holder, flags):
    """The sets of the flags that a function or type takes: @flags: DONARD_EXAMPLE_ONE, or ... DONARD_EXAMPLE_*."""
    texts = [text for _, text in holder.doc.names] if holder.doc else []
    named = [one or many for text in texts for one, many in re.findall(r"^(DONARD_[A-Z0-9]\w*)|\b(DONARD_\w+_)\*", text)]
    for name in dict.fromkeys(named):
        found = next((one for one in reversed(flags) if one.is_meant(holder, name)), None)
        if found or name.endswith("_"):
            yield name, found


def constants(function, known, flags):
    meant = {one: None for holder in [function, *types_of(function, known)] for _, one in flags_meant(holder, flags)}
    out = [line for one in meant for name, meaning in one.meanings for line in (".TP", ".B " + name, roff(meaning))]
    return [".SH CONSTANTS", *out] if out else []


def structures(function, known):
    out = []
    for known_type in types_of(function, known):
        doc, body = known_type.doc, known_type.body
        out += [".PP", *code(re.sub(r"\s*/\*.*?\*/", "", body, flags=re.S))]
        for names, text in doc.names if doc else []:
            out += tagged(names, text)
        for name, meaning in meanings(body) if known_type.is_enum else []:
            out += [".TP", ".B " + name, roff(meaning)] if meaning else []
        if doc:
            out += [line for text in doc.paragraphs for line in (".PP", roff(text))]
    return [".SH TYPES", *out[1:]] if out else []


def errors(function, table):
    named = dict.fromkeys(ERRNO.findall(function.doc.returns or ""))
    if not named:
        return []
    out = [".SH ERRORS"]
    for errno in named:
        out += [".TP", ".B " + roff("-" + errno), roff(table[errno])]
    if "ctx" in function.parameters and "struct donard_context **" not in function.prototype:
        out += [".PP", ".BR donard_error (3)", "has the text of a failure."]
    return out


def threads(function, known):
    """No object lies behind an enumeration; a queue compares threads, and other objects trust the program."""
    queues = function.types & {"donard_queue", "donard_cache"}
    objects = [name for name in function.types - queues if name not in known]
    said = []
    if queues:
        fails = "" if function.returns_nothing else ": calls for it from another thread fail with \\-EPERM"
        said.append(f"A queue, with its caches, belongs to the thread that opened it{fails}. Use one queue per thread.")
    if objects or (not queues and "*" in function.prototype and any(not known[name].is_enum for name in function.types)):
        said.append("A context and what came out of it belong to one thread at a time. Use one context per thread.")
    return " ".join(said) or "Any thread may call it at any time."


def prototype(text):
    return [roff(line) for line in textwrap.wrap(text, 76, subsequent_indent="        ")]


def page(function, version, known, table, flags, siblings):
    doc = function.doc
    library = LIBRARIES.get(function.path.name, "libdonard")
    link = [".IR \\-ldonard ."]
    if library != "libdonard":
        link = [".I " + roff("-l" + library.removeprefix("lib")), "and", *link]
    out = ['.\\" SPDX-License-Identifier: Apache-2.0', '.\\" From the comment in the header, by mk/manpages.py.',
           f'.TH {function.name} 3 "" "{library} {version}" "Library functions"',
           ".SH NAME", f"{function.name} \\- {roff(doc.summary)}", ".SH SYNOPSIS", ".nf",
           f"#include <donard/{function.path.name}>", "\\&", *prototype(function.prototype), ".fi", ".PP",
           "Link with", *link]
    paragraphs = doc.paragraphs or [doc.summary[0].upper() + doc.summary[1:].rstrip(".") + "."]
    out += [".SH DESCRIPTION", roff(paragraphs[0])]
    out += [line for text in paragraphs[1:] for line in (".PP", roff(text))]
    if doc.names:
        out.append(".SH PARAMETERS")
        for names, text in doc.names:
            out += tagged(names, text)
    out += structures(function, known) + constants(function, known, flags)
    if doc.returns:
        out += [".SH RETURN VALUE", roff(doc.returns)]
    out += errors(function, table)
    out += [".SH THREAD SAFETY", threads(function, known), ".SH SEE ALSO"]
    others = [name for name in siblings if name != function.name][:6]
    out += [".BR donard\\-cli (1)" + ("," if others else "")]
    out += [f".BR {name} (3)" + ("," if name != others[-1] else "") for name in others]
    return "\n".join(out) + "\n"


# The library of a header's functions if that is not libdonard.
LIBRARIES = {"meter.h": "libdonard-meter"}


def read(paths):
    functions, known, table, flags = [], {}, {}, []
    for path in paths:
        text = path.read_text()
        table.update(TABLE_ROW.findall(text))
        flags += [Flags(path, text, match) for match in FLAGS.finditer(text)]
        known.update((found[3], Type(path, text, found)) for found in STRUCT.finditer(text))
        functions += [Function(path, text, match) for match in FUNCTION.finditer(text)]
    return functions, known, table, flags


def faults_of(functions, known, table, flags):
    holders = [*functions, *known.values()]
    for holder in holders:
        yield from (f"{holder.path}:{holder.line}: {fault}" for fault in holder.faults(table))
    meant = {(one, prefix): holder for holder in holders for prefix, one in flags_meant(holder, flags)}
    for (one, prefix), holder in meant.items():
        if not one:
            yield f"{holder.path}:{holder.line}: no flags {prefix}* are before it in this header"
        for name, meaning in one.meanings if one else []:
            if not meaning:
                yield f"{one.path}:{one.line}: nothing is said of {name}"
    if not functions:
        yield "no functions"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--names", action="store_true")
    parser.add_argument("--version", default="")
    parser.add_argument("--into", type=pathlib.Path)
    parser.add_argument("headers", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    functions, known, table, flags = read(options.headers)
    if options.names:
        print("\n".join(f"{function.name}.3" for function in functions))
        return 0
    faults = list(faults_of(functions, known, table, flags))
    if faults:
        print("\n".join(faults), file=sys.stderr)
        return 1
    if options.check:
        return 0
    options.into.mkdir(parents=True, exist_ok=True)
    for old in options.into.glob("donard_*.3"):
        old.unlink()
    for function in functions:
        kin = [f.name for f in functions if f.name.split("_")[1] == function.name.split("_")[1]]
        text = page(function, options.version, known, table, flags, kin)
        (options.into / f"{function.name}.3").write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
