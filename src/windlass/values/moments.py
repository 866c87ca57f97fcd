"""Instants as Kubernetes writes them: RFC 3339, whole seconds, UTC.

>>> written(datetime(2026, 7, 1, 14, 5, 0, 900, tzinfo=UTC))
'2026-07-01T14:05:00Z'
>>> moment("soon") is None
True
"""

from datetime import UTC, datetime


def written(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def moment(text: str) -> datetime | None:
    """None for what is no instant, or does not say in which zone."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else None
