# SPDX-License-Identifier: Apache-2.0
# One panel of lines, labelled at their ends.
set lmargin at screen panel_left
set rmargin at screen panel_right
set tmargin at screen panel_top
set bmargin at screen panel_bottom
set label panel_title at graph 0,1 left offset 0,0.9 font 'sans-serif,20' tc rgb '#333333'
plot for [s = 0:panel_series - 1] $data index s using 1:2 with linespoints ls s + 1
unset label
unset arrow
