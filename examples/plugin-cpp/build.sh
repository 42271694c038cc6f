#!/bin/sh
# Builds the plugin in its own folder, examples/plugin-cpp.
set -e
c++ -std=c++20 -shared -fPIC -O2 -I ../../crates/plugin/include -o libramp.so ramp.cpp
