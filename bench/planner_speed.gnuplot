# gnuplot bench/planner_speed.gnuplot, from the root of the repository: how planning time grows.
set terminal svg size 720,440 font "sans-serif,13" background "white"
set output "bench/results/planner_speed.svg"
set logscale xy
set grid
set key top left
set xlabel "nodes of the forward graph"
set ylabel "seconds of one thread"
set title "Planning time, 1F1B, swap and recompute needed"
data = "bench/results/planner_speed.txt"
plot data index 0 using 1:3 with linespoints title "dawnpiper, 8 stages", \
     data index 0 using 1:4 with linespoints title "auto, 8 stages", \
     data index 1 using 1:3 with linespoints title "dawnpiper, 64 stages", \
     data index 1 using 1:4 with linespoints title "auto, 64 stages"
