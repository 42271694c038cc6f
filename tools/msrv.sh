#!/bin/sh
# Checks that the crates build with the oldest Rust that Cargo.toml declares (rust-version).
#
# Where rustup has that toolchain, it compiles. Where it has not, and it may not be fetched, clippy's `incompatible_msrv`
# says which of the standard library's items are newer; it does not see newer syntax, so that is the weaker check, and
# this script says which of the two it made. MSRV_REQUIRED=1 makes the weaker one fail: for a CI that has the toolchain.
set -eu
cd "$(dirname "$0")/.."
msrv=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)
[ -n "$msrv" ] || { echo "error: Cargo.toml declares no rust-version" >&2; exit 2; }
toolchain=$(rustup toolchain list 2>/dev/null | sed -n "s/^\($msrv[.-][^ ]*\).*/\1/p" | head -n 1)
if [ -n "$toolchain" ]; then
  echo "Compiling with $toolchain."
  exec env CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/msrv" \
    cargo "+$toolchain" check --workspace --all-targets --locked
fi
if [ -n "${MSRV_REQUIRED:-}" ]; then
  echo "error: rustup has no toolchain $msrv: rustup toolchain install $msrv --profile minimal" >&2
  exit 2
fi
echo "rustup has no toolchain $msrv, so nothing was compiled with it; clippy looks for newer items of the standard library."
exec cargo clippy --workspace --all-targets --profile checked --locked -- -D clippy::incompatible_msrv
