#!/bin/sh
# Builds the plugin in its own folder, examples/plugin-c, and runs it.
set -e
cc -shared -fPIC -O2 -I ../../crates/plugin/include -o libramp.so ramp.c
sojourn qdiscs ramp --plugin ./libramp.so
sojourn try cubic --qdisc "ramp high 5ms" --plugin ./libramp.so
sojourn run experiment.toml -o results
