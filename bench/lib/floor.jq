# SPDX-License-Identifier: Apache-2.0
# What each lever brings: runs whose options say "levers", and methods that are there to show the floor.
include "results";
include "text";

def is_reference: .method | IN("donard", "fio");
def is_lever: .levers or ((.method | IN(main_methods[])) | not);
def wanted: map(select((is_lever or is_reference) and (.block_bytes | IN(MIB / 2, MIB)) and .threads == 1 and .queue_depth == 16));

# Runs of levers use the names of the plain methods; their file tells them apart.
def name: (.method | method_name) + if .levers then " (\(.file))" else "" end;

def lines:
  sort_by([(.kernel | version_order), .page_type, (.direction | . == "from-region"), .overhead // infinite])[]
  | [.kernel, .page_type, (.direction | direction_name), name, (.block_bytes | size), (.overhead | share),
     (.instructions_per_mib, .user_instructions_per_mib | grouped), .verified];

(copies("copy-") | map(select(.file | startswith("copy-rates") or startswith("copy-sweep") | not))) as $samples
| if ($samples | map(select(is_lever)) | wanted) == []
  then "No samples of levers (fixed buffers, passthrough, `\"levers\": true`) among the results: "
       + "`bench/run copy` makes them."
  else "Depth 16, one thread, least overhead first. Passed on as they are, commands may not exceed what the drive "
       + "takes: 512 KiB.", "",
    ($samples | wanted | points
     | table(4; ["kernel", "pages", "direction", "method", "block", "overhead", "instructions / MiB", "of these in user space",
                 "verified"]; lines)) end
