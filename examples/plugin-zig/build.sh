#!/bin/sh
# Builds the plugin in its own folder, examples/plugin-zig. Zig translates the header of C.
set -e
zig translate-c -lc ../../crates/plugin/include/sojourn.h >sojourn.zig
zig build-lib -dynamic -lc -O ReleaseSafe -femit-bin=libramp.so ramp.zig
