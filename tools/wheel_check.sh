#!/bin/sh
# Installs a wheel, or builds an sdist, in an empty environment, and uses it as a newcomer would.
#
#     tools/wheel_check.sh dist/*.whl dist/*.tar.gz
#
# Each file that is named is installed alone, in a folder that knows nothing of the sources. An sdist needs Rust.
set -eu
python=${PYTHON:-python3}
for file in "$@"; do
  file=$(realpath "$file")
  room=$(mktemp -d)
  trap 'rm -rf "$room"' EXIT
  # The tests' pinned versions are the project's business, not a user's.
  (
    cd "$room"
    unset VIRTUAL_ENV PYTHONPATH PIP_CONSTRAINT
    "$python" -m venv empty
    empty/bin/python -m pip install --quiet "$file"
    empty/bin/sojourn --version
    empty/bin/sojourn playground --print
    empty/bin/sojourn docs --print first experiment
    empty/bin/sojourn init mine.toml
    empty/bin/sojourn run mine.toml --seeds 1 -o mine >mine.txt
    empty/bin/sojourn try --duration 5s --qdisc fq_codel cubic reno >try.txt
    empty/bin/sojourn run l4s-tests/s7 --seeds 1 -o results >/dev/null
    empty/bin/sojourn report results
    empty/bin/python -c 'import sojourn; print(len(sojourn.open("results")), "runs read back by", sojourn.__version__)'
  )
  rm -rf "$room"
  trap - EXIT
  echo "$(basename "$file"): installs and works in an empty environment"
done
