from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Optional, cast

if TYPE_CHECKING:
    from models import Account


def show(user: Account, other: "Optional[Account]" = None, kind: Literal["User"] = "User") -> "Account":
    # type: (User) -> User
    again = cast("Account", user)
    return again


class Holder:
    owner: Account
    owners: "list[Account]"
