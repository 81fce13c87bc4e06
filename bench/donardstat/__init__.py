# SPDX-License-Identifier: Apache-2.0
"""Everything that turns samples of donard-bench into figures: statistics, tables, plots, the guard."""
