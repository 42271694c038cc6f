"""Print the verdicts of the references of a document, as docs/evaluate.md has them.

tools/evaluation_table.py rfc-7928
"""

import sys

from sojourn.evidence.evaluation import judge, page, read, reference


def main(name: str) -> None:
    """Print the table of a document."""
    document = read(name)
    stored = {own: reference.values(document, own, any_sources=True) for own in document.references}
    known = {own: values for own, values in stored.items() if values is not None}
    incumbents = [known[own] for own in document.beside]
    judged = {own: judge(document, values, incumbents, {}) for own, values in known.items()}
    lines = [f"| row | {' | '.join(judged)} |", f"|---|{'---|' * len(judged)}"]
    for index, row in enumerate(document.rows):
        lines.append(f"| {row.id} | {' | '.join(page.MARKS[rows[index].verdict] for rows in judged.values())} |")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    for asked in sys.argv[1:]:
        main(asked)
