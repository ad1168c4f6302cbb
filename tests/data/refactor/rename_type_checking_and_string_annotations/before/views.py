from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Optional, cast

if TYPE_CHECKING:
    from models import User


def show(user: User, other: "Optional[User]" = None, kind: Literal["User"] = "User") -> "User":
    # type: (User) -> User
    again = cast("User", user)
    return again


class Holder:
    owner: User
    owners: "list[User]"
