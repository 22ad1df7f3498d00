"""How commands print: what they say may quote a trace, which anybody may have written, and steers no terminal."""

import typer


def say(text: str, *, err: bool = False) -> None:
    """Print lines on stdout, or on stderr."""
    typer.echo("\n".join(map(printable, text.split("\n"))), err=err)


def printable(text: object) -> str:
    """A text on one line, with everything that does not print as itself written out."""
    line = str(text)
    return line if line.isprintable() else "".join(map(_spelled, line))


def _spelled(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
