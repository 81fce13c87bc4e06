# SPDX-License-Identifier: Apache-2.0
# The Python binding: modules as they are, and one that is made of the headers. PYTHON needs cffi to make it, and
# _cffi_backend, which is part of cffi, to run it.
PYTHON    ?= python3
PY_BUILD  := $(BUILD)/python/donard
PY_FILES  := $(sort $(wildcard python/donard/*.py)) python/donard/py.typed
PY_DECLARATIONS := $(PY_BUILD)/_declarations.py

# The folder for modules of Debian's packages, or the one below /usr/local that Debian's Python searches.
PYTHONDIR ?= $(if $(filter /usr/local,$(PREFIX)),$(shell $(PYTHON) -c \
	'import sysconfig; print(sysconfig.get_path("purelib"))'),$(PREFIX)/lib/python3/dist-packages)
PY_HOME    = $(DESTDIR)$(PYTHONDIR)/donard

.PHONY: needs-python
needs-python:
	@command -v $(firstword $(PYTHON)) >/dev/null || { echo "make: there is no Python $(firstword $(PYTHON))." \
		"On Debian: apt install python3 python3-cffi; or name another one: make PYTHON=..." >&2; exit 2; }

python: $(PY_DECLARATIONS) $(patsubst python/donard/%,$(PY_BUILD)/%,$(PY_FILES))

$(PY_DECLARATIONS): mk/pydeclarations.py $(PUBLIC_HEADERS) | needs-python
	@mkdir -p $(@D)
	$(PYTHON) mk/pydeclarations.py --cc '$(CC)' $@.new $(PUBLIC_HEADERS)
	mv $@.new $@

$(PY_BUILD)/%: python/donard/%
	@mkdir -p $(@D)
	install -m 644 $< $@

# Python looks into no folder that is not there: behind the copying.
IS_SOUGHT := import os, sys; sys.exit(not any(os.path.isdir(p) and os.path.samefile(p, sys.argv[1]) for p in sys.path))
told_unsought = @$(PYTHON) -c '$(IS_SOUGHT)' "$(PYTHONDIR)" || echo "make: $(PYTHON) does not look into $(PYTHONDIR):" \
	"'import donard' fails there. Run it with PYTHONPATH=$(PYTHONDIR) LD_LIBRARY_PATH=$(LIBDIR)" >&2

install-python: python
	$(call put,644,$(PYTHONDIR)/donard,$(PY_DECLARATIONS) $(PY_FILES))
	$(if $(DESTDIR),,$(told_unsought))

uninstall-python: needs-python
	rm -f $(foreach file,$(notdir $(PY_FILES) $(PY_DECLARATIONS)),"$(PY_HOME)/$(file)")
	rm -rf "$(PY_HOME)/__pycache__"
	-rmdir "$(PY_HOME)" 2>/dev/null; true

# Runs the tests of the folder that is its argument.
UNITTEST = -m unittest discover -v -s

# Uses the library in the build folder; nothing has to be installed.
unit-python: python userspace
	LD_LIBRARY_PATH=$(BUILD) PYTHONPATH=$(BUILD)/python CC='$(CC)' $(PYTHON) -B $(UNITTEST) tests/python
