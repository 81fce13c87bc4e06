# SPDX-License-Identifier: Apache-2.0
# One panel of stacked bars: $data holds a rectangle a line, x low, x high, y, colour.
set lmargin at screen panel_left
set rmargin at screen panel_right
set tmargin at screen panel_top
set bmargin at screen panel_bottom
set grid xtics noytics
set style fill solid noborder
set label panel_title at graph 0,1 left offset 0,0.9 font 'sans-serif,20' tc rgb '#333333'
plot $data using 1:3:1:2:($3 - 0.36):($3 + 0.36):4 with boxxyerror lc rgb variable
unset label
