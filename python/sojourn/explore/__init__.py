"""``sojourn explore``: a results folder in the browser, served from this machine to this machine.

A campaign has thousands of runs, too many for a figure each. The page filters them by their axes, shows any metric
against any axis as a table, a heatmap or a plot, and draws several runs over time in one plot.

Invariants: the server writes nothing into the folder, reads nothing outside it, and answers only requests with the
address's secret. The trick: it reads the index of all runs; it reads a run's answers and tables when the page needs a
number or a line of it, and keeps the number.

``catalogue``: the list of runs; ``measuring``: metrics of many runs; ``series``: one run over time; ``about``: the
facts of one run; ``requests``: the requests of the page; ``server``: the answers; ``page``: the page.
"""
