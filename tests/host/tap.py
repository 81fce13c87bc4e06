#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tap.py FOLDER - runs the tests in Python of a folder, and prints their results in the Test Anything Protocol."""
import sys
import traceback
import unittest


class Results(unittest.TestResult):
    """One result a test, also if several of its parts (subTest) fail."""

    def __init__(self):
        super().__init__()
        self.count = 0
        self.told = []

    def print(self, verdict, test, more=""):
        """A test is called what it says of itself, else by its name."""
        name = test.shortDescription() or getattr(test, "_testMethodName", str(test)).replace("_", " ")
        self.count += 1
        print(f"{verdict} - {name}{more}", flush=True)

    def startTest(self, test):
        super().startTest(test)
        self.told = []

    def stopTest(self, test):
        super().stopTest(test)
        if self.told:
            self.fail(test)

    def fail(self, test):
        self.print("not ok", test)
        print("".join(f"# {line}\n" for text in self.told for line in text.splitlines()), end="", flush=True)
        self.told = []

    def note(self, test, error):
        self.told.append("".join(traceback.format_exception(*error)))
        if not isinstance(test, unittest.TestCase):     # what prepares a class or a file, around which nothing is called
            self.fail(test)

    def addError(self, test, err):
        super().addError(test, err)
        self.note(test, err)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.note(test, err)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err:
            self.told.append(f"{subtest}\n" + "".join(traceback.format_exception(*err)))

    def addSuccess(self, test):
        super().addSuccess(test)
        self.print("ok", test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.print("ok", test, f" # SKIP {reason}")


def main(folder):
    results = Results()
    unittest.defaultTestLoader.discover(folder).run(results)
    print(f"1..{results.count}")
    return int(not results.wasSuccessful() or not results.count)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
