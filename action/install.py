"""Make a virtual environment for MAK: what its requirements name by hash, and this checkout.

Runs with whatever Python the runner has, which may be one that MAK cannot use, and with nothing
installed.
"""

import os
import subprocess
import sys
from pathlib import Path

NEEDED = (3, 11)


def main() -> int:
    """Make it; return an exit code."""
    if sys.version_info < NEEDED:
        found = ".".join(str(part) for part in sys.version_info[:3])
        print(f"::error title=MAK::Python {found} is too old: MAK needs 3.11 or later.")
        print("hint: run actions/setup-python before this action")
        return 2
    here = Path(__file__).resolve().parent
    made = Path(os.environ["RUNNER_TEMP"], "mak")
    python = made / "bin" / "python"
    if (made / "complete").exists():
        return 0
    print("::group::Set up MAK", flush=True)
    # Isolated: the working directory holds a repository that anybody may have written to.
    subprocess.run([sys.executable, "-I", "-m", "venv", "--clear", str(made)], check=True)
    pip = [str(python), "-I", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    requirements = str(here / "requirements.txt")
    options = ["--no-compile", "--require-hashes", "--only-binary", ":all:", "--no-deps"]
    done = subprocess.run([*pip, *options, "-r", requirements], cwd=str(made))
    print("::endgroup::", flush=True)
    if done.returncode:
        print("::error title=MAK::Its requirements could not be installed; see the log above.")
        return 2
    where = [str(python), "-I", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    packages = subprocess.run(where, check=True, stdout=subprocess.PIPE).stdout.decode().strip()
    Path(packages, "mak.pth").write_text(f"{here.parent}\n")
    (made / "complete").touch()
    return 0


if __name__ == "__main__":
    sys.exit(main())
