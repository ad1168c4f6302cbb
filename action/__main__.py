"""Run the Action: one command, one exit code; every error ends here."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable

from action import check, comment
from action.job import Inputs, Job, hide_token, take_inputs
from mak.errors import MakError, UsageError
from mak.github.redaction import redact

COMMANDS: dict[str, Callable[[Inputs, Job], int]] = {
    "check": check.run,
    "comment": comment.run,
    "stop": comment.stop,
}


def main() -> int:
    """Run what the workflow asks for; return the exit code that `mak` would."""
    hide_token(os.environ)
    job = Job(os.environ)
    try:
        inputs = take_inputs(os.environ)
        job.mask(inputs.token)
        if inputs.command not in COMMANDS:
            known = ", ".join(sorted(COMMANDS))
            raise UsageError(f"input command: {inputs.command!r} is none of {known}")
        return COMMANDS[inputs.command](inputs, job)
    except MakError as error:
        hint = f"\nhint: {error.hint}" if error.hint else ""
        job.annotate("error", f"{error}{hint}", title="MAK")
        return error.exit_code
    except Exception as error:  # noqa: BLE001
        with job.quoting():
            print(redact("".join(traceback.format_exception(error))))
        job.annotate("error", "This is a bug in MAK; please report it with the log.", title="MAK")
        return 3


if __name__ == "__main__":
    sys.exit(main())
