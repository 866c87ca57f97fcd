"""What can go wrong for a person who runs a local cluster: each one line that says what to do."""


class LocalError(Exception):
    """The sentence to show; no traceback is of use to the reader."""


class CommandFailed(LocalError):
    """A program that we ran ended badly; its last words are kept."""

    def __init__(self, argv: list[str], code: int, output: str) -> None:
        self.argv = argv
        self.code = code
        self.output = output
        last = "\n".join(output.strip().splitlines()[-20:])
        super().__init__(f"`{' '.join(argv)}` ended with {code}:\n{last}")


class TimedOut(LocalError):
    """A condition did not come true before its deadline."""
