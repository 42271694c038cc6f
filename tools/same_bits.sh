#!/bin/sh
# The same bits between builds: the golden runs (digests in tests/golden) by builds for other processors and
# another C library. A build whose results differ in a bit fails.
#
#     tools/same_bits.sh            # all of them
#     tools/same_bits.sh x86-64-v3  # one
set -eu
cd "$(dirname "$0")/.."
golden() {
  name=$1
  shift
  echo "same bits: $name"
  RUSTFLAGS="${flags:-}" CARGO_TARGET_DIR="target/same-bits/$name" \
    cargo test --quiet -p sojourn-sim --profile checked --test runs "$@" -- golden unresponsive_loads small_packets
}
for build in "${@:-x86-64 x86-64-v3 musl}"; do
  for name in $build; do
    case $name in
      x86-64 | x86-64-v2 | x86-64-v3 | x86-64-v4) flags="-C target-cpu=$name" golden "$name" ;;
      musl)
        rustup target list --installed | grep -q x86_64-unknown-linux-musl || {
          echo "The target is missing. Get it by: rustup target add x86_64-unknown-linux-musl"
          exit 1
        }
        # Without QUIC: its cryptography wants a C compiler for this library, and no golden run has it.
        flags="" golden musl --target x86_64-unknown-linux-musl --no-default-features
        ;;
      aarch64)
        rustup target list --installed | grep -q aarch64-unknown-linux-gnu || {
          echo "The target is missing. Get it by: rustup target add aarch64-unknown-linux-gnu"
          exit 1
        }
        linker=aarch64-linux-gnu-gcc
        runner=$(command -v qemu-aarch64-static || command -v qemu-aarch64) && command -v "$linker" >/dev/null || {
          echo "A compiler or an emulator is missing. On Debian and Ubuntu: apt install gcc-aarch64-linux-gnu qemu-user-static"
          exit 1
        }
        # Another instruction set, emulated: ten times as slow.
        export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER="$linker"
        export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="$runner -L /usr/aarch64-linux-gnu"
        flags="" golden aarch64 --target aarch64-unknown-linux-gnu --no-default-features
        ;;
      *)
        echo "There is no build \"$name\": x86-64, x86-64-v2, x86-64-v3, x86-64-v4, musl or aarch64"
        exit 2
        ;;
    esac
  done
done
