#!/bin/sh
# Packages the libraries as they would be published, and builds and tests the external examples from the packages alone.
#
#     tools/packaged_examples.sh            packages, examples
#     VERIFY=1 tools/packaged_examples.sh   and builds each package by itself, as `cargo publish` would
#
# The examples are copied into an empty folder. Their dependencies are unpacked from the .crate files next to them, and
# stands in for the registry ([patch.crates-io]). Whatever needs a path into the repository, or a file that is not in a
# package, fails. The C and C++ examples are compiled with the header of the package, too.
set -eu
cd "$(dirname "$0")/.."
root=$PWD
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
packages=$target/package
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT

# Everything that may be published; cargo itself leaves out what must not be, but would stop at it.
names=$(cargo metadata --no-deps --format-version 1 --locked | ${PYTHON:-python3} -c '
import json, sys
for package in json.load(sys.stdin)["packages"]:
    if package["publish"] != []:
        print(package["name"])')
rm -f "$packages"/*.crate
# Cargo takes a package of a registry for what never changes; ours has the same version each time.
rm -rf "$target"/debug/.fingerprint/sojourn-* "${CARGO_HOME:-$HOME/.cargo}"/registry/*/-*/sojourn-*
verify=--no-verify
[ -z "${VERIFY:-}" ] || verify=
# shellcheck disable=SC2046,SC2086  # one word each
if ! cargo package --locked --allow-dirty $verify $(printf -- '-p %s ' $names) >"$room/log" 2>&1; then
  cat "$room/log" >&2
  exit 1
fi
if grep '^warning' "$room/log" >&2; then
  echo "error: cargo package warns: cargo package --allow-dirty -p NAME says the whole of it" >&2
  exit 1
fi

mkdir "$room/crates" "$room/.cargo"
{
  echo '[profile.dev]'
  echo 'opt-level = 1'
  echo 'debug = false'
  echo '[patch.crates-io]'
} >"$room/.cargo/config.toml"
for file in "$packages"/*.crate; do
  tar -xzf "$file" -C "$room/crates"
  folder=$(basename "$file" .crate)
  echo "${folder%-*} = { path = \"$room/crates/$folder\" }" >>"$room/.cargo/config.toml"
done
echo "packaged and unpacked: $(ls "$room/crates" | wc -l) crates"

for example in own-aqm plugin-rust two-channels; do
  cp -R "$root/examples/$example" "$room/"
  # The versions that the tests run with; cargo drops what an example does not use.
  cp "$root/Cargo.lock" "$room/$example/"
done
# The packages' own folder for what is built: dependencies stay from one time to the next.
export CARGO_TARGET_DIR="$target/packaged"
(
  cd "$room/own-aqm"
  cargo run --quiet >out.txt
  grep -q 'curve marks: [1-9]' out.txt
  cargo test --quiet
)
for example in plugin-rust two-channels; do
  (cd "$room/$example" && cargo test --quiet)
done
include=$(echo "$room"/crates/sojourn-plugin-[0-9]*/include)
for source in "$root"/examples/plugin-c/*.c; do
  cp "$source" "$room/"
  cc -std=c11 -Wall -Wextra -Werror -shared -fPIC -I "$include" -o "$room/$(basename "$source" .c).so" "$source"
done
echo "own-aqm, plugin-rust, two-channels and plugin-c build from the packages alone, and their tests pass"
