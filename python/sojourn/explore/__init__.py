"""``sojourn explore``: a results folder in the browser, served from this machine to this machine.

A campaign has thousands of runs, and a report cannot have a figure of each. Here they are filtered by their axes, any
metric stands against any axis as a table, a heatmap or a plot, and what runs did over time lies over one another.

Invariants: nothing is written into the folder, nothing outside it is read, and nobody is answered who does not have the
address. The trick: of all runs only the index is read; a run's answers and tables are read when
somebody asks for a number or a line of it, and a number is kept.

``catalogue``: which runs there are; ``measuring``: metrics of many of them; ``series``: one run over time; ``about``:
what is said of one; ``requests``: what a page may ask for; ``server``: who is answered, and how; ``page``: the page.
"""
