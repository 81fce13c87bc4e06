# SPDX-License-Identifier: Apache-2.0
# The words that results of an emulated machine carry; nothing for others.
include "results";
include "text";

if is_emulated then MARK else empty end
