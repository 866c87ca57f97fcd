"""The programs that run beside the daemons, as they are mounted into pods."""

from importlib import resources


def programs() -> dict[str, str]:
    """The texts of windlass.inpod by file name."""
    folder = resources.files("windlass.inpod")
    found = (file for file in folder.iterdir() if file.name.endswith(".py"))
    return {file.name: file.read_text() for file in found if file.name != "__init__.py"}
