"""Build paper/paper.pdf from paper.md with pandoc and Typst (`make paper`)."""

import tempfile
from pathlib import Path

import pypandoc
import typst

HERE = Path(__file__).parent
OPTIONS = ["--citeproc", "--standalone", "--variable=fontsize:10pt"]
AUTHOR = "--metadata=author:The sumbo developers"  # JOSS names the field otherwise


def main() -> None:
    """Write paper.pdf beside this file."""
    text = pypandoc.convert_file(
        str(HERE / "paper.md"),
        "typst",
        extra_args=[*OPTIONS, AUTHOR, f"--resource-path={HERE}"],
    )
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "paper.typ"
        source.write_text(text, encoding="utf-8")
        typst.compile(str(source), output=str(HERE / "paper.pdf"))


if __name__ == "__main__":
    main()
