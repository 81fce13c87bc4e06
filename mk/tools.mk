# SPDX-License-Identifier: Apache-2.0
# Programs that a minimal system lacks. A target that needs a missing one is refused before anything is changed. A step that can be
# done later is reported, and the rest is done.

# A root shell by su may have the user's PATH.
ADMIN_PATH ?= /usr/sbin:/sbin
export PATH := $(PATH):$(ADMIN_PATH)

PACKAGE_depmod  := kmod
USE_depmod      := tells modprobe of modules
PACKAGE_dkms    := dkms
USE_dkms        := builds the module for each kernel
PACKAGE_python3 := python3
USE_python3     := makes the manual pages of the library
PACKAGE_xz      := xz-utils
USE_xz          := compresses the modules of this kernel
PACKAGE_zstd    := zstd
USE_zstd        := compresses the modules of this kernel
PACKAGE_gzip    := gzip
USE_gzip        := compresses the modules of this kernel

# $(call require,TOOL)
require = @command -v $(1) >/dev/null || { \
	echo "make: there is no $(1), which $(USE_$(1)). On Debian: apt install $(PACKAGE_$(1))" >&2; exit 2; }

needs-%: FORCE
	$(call require,$*)

.PHONY: FORCE needs-group
needs-group:
	@command -v systemd-sysusers >/dev/null || command -v groupadd >/dev/null || { \
		echo "make: there is neither systemd-sysusers nor groupadd, which make the group p2pmem." \
			"On Debian: apt install passwd" >&2; exit 2; }

# Tells udev and systemd of new files if they run; started later, they read all rules and units anyway.
tell_udev    = if [ -S /run/udev/control ]; then udevadm control --reload; fi
tell_systemd = if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi

# $(call told_without,TOOL,TEXT)
told_without = @command -v $(1) >/dev/null || echo "make: there is no $(1): $(2)" >&2
