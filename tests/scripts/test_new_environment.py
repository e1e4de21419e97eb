"""`scripts/new-environment`: what it builds runs, whatever was in its place."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "new-environment"
THIS = "{}.{}".format(*sys.version_info)
QUICKLY = f"""#!/bin/sh
[ "$2" = venv ] && set -- "$@" --without-pip
exec "{sys.executable}" "$@"
"""
ANOTHER = "#!/bin/sh\necho 3.9\n"


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """This one, in a hurry: to install pip takes nearly all of the time."""
    return program(tmp_path / "python", QUICKLY)


@pytest.fixture
def folder(python: Path, tmp_path: Path) -> Path:
    """An environment that it has built."""
    folder = tmp_path / "an environment"
    build(python, folder)
    (folder / "installed").touch()
    return folder


def build(python: Path, folder: Path) -> None:
    subprocess.run([SCRIPT, python, folder], check=True)


def test_one_whose_python_is_gone_is_made_anew(python: Path, folder: Path) -> None:
    for link in folder.glob("bin/python*"):
        link.unlink()
        link.symlink_to("/gone/python3")
    build(python, folder)
    assert version_of(folder) == THIS


def test_one_that_another_python_built_is_made_anew(python: Path, folder: Path) -> None:
    its_own = folder / "bin" / "python"
    its_own.unlink()
    program(its_own, ANOTHER)
    build(python, folder)
    assert version_of(folder) == THIS
    assert not (folder / "installed").exists()


def test_one_of_the_same_python_keeps_what_is_installed(python: Path, folder: Path) -> None:
    build(python, folder)
    assert version_of(folder) == THIS
    assert (folder / "installed").exists()


def test_a_folder_that_is_no_environment_loses_nothing(python: Path, tmp_path: Path) -> None:
    build(python, tmp_path)
    assert python.exists()


def program(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


def version_of(folder: Path) -> str:
    said = subprocess.check_output([folder / "bin" / "python", "--version"], text=True)
    return said.removeprefix("Python ").rpartition(".")[0]
