# SPDX-License-Identifier: Apache-2.0
# Title, what was measured, and the words that emulated results carry. Drawn once, with the first panel.
set multiplot
set label figure_title at screen 0.02,0.95 left font 'sans-serif,25' tc rgb '#111111'
set label figure_subtitle at screen 0.02,0.895 left font 'sans-serif,17' tc rgb '#555555'
set label figure_mark at screen 0.02,0.025 left font 'sans-serif,17' tc rgb '#A03000'
