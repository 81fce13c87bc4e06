# SPDX-License-Identifier: Apache-2.0
# What all plots share. 16:9, as a slide is; nothing but the data in strong colours.
set terminal svg size 1280,720 font 'sans-serif,18' background '#ffffff' noenhanced
set encoding utf8
set output file
unset key
set border 3 back lc rgb '#888888'
set tics nomirror out scale 0.5 textcolor rgb '#333333'
set xtics offset 0,0.4
set grid ytics lc rgb '#dddddd' lt 1 lw 1
set xlabel textcolor rgb '#333333' offset 0,0.4
set ylabel textcolor rgb '#333333' offset 0.8,0
set minussign
