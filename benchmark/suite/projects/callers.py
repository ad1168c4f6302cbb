"""callers: functions whose signature changes, with callers all over the project."""

from __future__ import annotations

from benchmark.suite.specification import Case, Fill, Project, Task, module, written

#: Functions that change, and modules that call each of them.
APIS, MODULES = 12, 6


def make() -> Project:
    """Return the project: each caller calls one function, and no two tasks edit one caller."""
    files = {"ledger/__init__.py": '"""Sums and who works them out."""\n'}
    before, after, tests, tasks = [], [], [], []
    calls: dict[int, list[str]] = {number: [] for number in range(MODULES)}
    for api in range(APIS):
        name = f"charge_{api:02}"
        about = f"Return the charge of kind {api} for an amount."
        before.append(written(name, "amount, rate", about, f"return amount * rate + {api}"))
        changed = written(
            name,
            "amount, rate, *, fee",
            about,
            f"return amount * rate + fee + {api}",
        )
        after.append(changed)
        edits = [Fill("ledger/charges.py", name, changed, api=True)]
        goal = (
            f"In ledger/charges.py give {name} a required keyword-only parameter fee after the "
            f"others, which is added to what it returns. Its callers are bill_{api:02} in "
            f"ledger/branch_0.py to ledger/branch_{MODULES - 1}.py; the one in branch_N passes "
            f"fee=N + {api + 1}, written as one number."
        )
        for number in range(MODULES):
            caller = f"bill_{api:02}"
            doc = f"Return the bill of branch {number}."
            args = f"amount, {number + 2}"
            call = f"return {name}({args})"
            calls[number].append(written(caller, "amount", doc, call))
            fee = number + api + 1
            edits.append(
                Fill(
                    f"ledger/branch_{number}.py",
                    caller,
                    written(caller, "amount", doc, f"return {name}({args}, fee={fee})"),
                )
            )
            tests.append(
                Case(
                    f"branch_{number}_bill_{api:02}",
                    f"from ledger.branch_{number} import {caller}\n"
                    f"assert {caller}(10) == {10 * (number + 2) + fee + api}",
                )
            )
        tests.append(
            Case(
                name,
                f"from ledger.charges import {name}\nassert {name}(3, 4, fee=5) == {17 + api}\n"
                f"try:\n    {name}(3, 4)\nexcept TypeError:\n    pass\nelse:\n"
                "    raise AssertionError('fee is not required')",
            )
        )
        tasks.append(Task(f"callers-{api + 1:03}", goal, tuple(edits)))
    files["ledger/charges.py"] = module("Charges.", *before)
    names = ", ".join(f"charge_{api:02}" for api in range(APIS))
    for number, functions in calls.items():
        head = f'"""Branch {number}."""\n\nfrom ledger.charges import (\n'
        head += "".join(f"    {name},\n" for name in names.split(", ")) + ")\n"
        files[f"ledger/branch_{number}.py"] = "\n\n".join((head, *functions)).replace(
            "\n\n\n\n", "\n\n\n"
        )
    about = "The package ledger is to change its charges, with all who call them."
    return Project("callers", about, dict(sorted(files.items())), tuple(tasks), tuple(tests))
