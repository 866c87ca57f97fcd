"""LoginSet: its Service and its Controller."""

from collections.abc import Iterator

from windlass.api import names
from windlass.api.login_set import LoginSet
from windlass.api.validation import references, services
from windlass.api.validation.context import Context
from windlass.api.validation.findings import Finding


def review(new: LoginSet, old: LoginSet | None, context: Context) -> tuple[Finding, ...]:
    return (
        *references.controller(new.spec.controller_ref, context.namespace),
        *services.review(new.spec.service, "login", names.SSH_PORT),
        *(() if old is None else _changes(new, old)),
    )


def _changes(new: LoginSet, old: LoginSet) -> Iterator[Finding]:
    yield from references.controller_stays(new.spec.controller_ref, old.spec.controller_ref)
