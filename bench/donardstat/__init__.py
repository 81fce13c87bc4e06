# SPDX-License-Identifier: Apache-2.0
"""Everything that turns samples of donard-bench into figures: statistics, tables, plots, the guard.

C makes no figure of samples, with two exceptions, whose users get figures and no samples: the latencies of an RDMA transfer
(tool/rdma/latency.c, exact) and of the server of a write cache, which keeps a histogram (lib/cache/tally.c).
"""
