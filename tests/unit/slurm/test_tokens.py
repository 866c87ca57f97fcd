import base64
import hmac
import json
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pytest

from windlass.slurm.errors import Unauthorized
from windlass.slurm.tokens import (
    MintedToken,
    Passthrough,
    StaticToken,
    TokenFile,
    claims_of,
    mint,
)
from windlass.values.clock import Instant, Seconds

KEY = b"k" * 32


@dataclass(slots=True)
class HandClock:
    time: float = 1000.0

    def now(self) -> Instant:
        return Instant(self.time)

    def monotonic(self) -> Seconds:
        return Seconds(self.time)

    async def sleep(self, seconds: Seconds) -> None:
        raise NotImplementedError


def claims(token: str) -> dict[str, object]:
    part = token.split(".")[1]
    decoded: dict[str, object] = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return decoded


def test_a_minted_token_names_the_user_and_is_signed_with_the_key() -> None:
    token = MintedToken(KEY, HandClock(), user="alice", lifespan=60).token()

    signed, _, signature = token.rpartition(".")
    wanted = hmac.new(KEY, signed.encode(), sha256).digest()
    assert base64.urlsafe_b64decode(signature + "=") == wanted
    assert claims(token) == {"exp": 1060, "iat": 1000, "sun": "alice"}


def test_a_minted_token_is_kept_until_near_its_end() -> None:
    clock = HandClock()
    minted = MintedToken(KEY, clock, lifespan=100)
    first = minted.token()
    clock.time = 1079
    assert minted.token() == first
    clock.time = 1080
    assert claims(minted.token())["iat"] == 1080


def test_a_clock_that_was_set_back_makes_a_new_token() -> None:
    clock = HandClock()
    minted = MintedToken(KEY, clock, lifespan=100)
    minted.token()
    clock.time = 500
    assert claims(minted.token())["iat"] == 500


def test_the_key_and_the_token_are_not_shown() -> None:
    assert "kkk" not in repr(MintedToken(KEY, HandClock()))
    assert "secret" not in repr(StaticToken("secret"))


def test_a_token_file_is_read_again_for_every_request(tmp_path: Path) -> None:
    path = tmp_path / "token"
    tokens = TokenFile(path)
    path.write_text("first\n")
    assert tokens.token() == "first"
    path.write_text("SLURM_JWT=second\n")
    assert tokens.token() == "second"


def test_a_missing_token_file_is_unauthorized_and_named(tmp_path: Path) -> None:
    with pytest.raises(Unauthorized, match=r"token file .*/gone"):
        TokenFile(tmp_path / "gone").token()


def test_a_token_is_passed_through_from_the_request_at_hand() -> None:
    current = ["mine"]
    tokens = Passthrough(lambda: current[0])
    assert tokens.token() == "mine"
    current[0] = ""
    with pytest.raises(Unauthorized, match="without a token"):
        tokens.token()


def test_the_claims_of_a_token_are_read_only_if_the_key_signed_it() -> None:
    token = mint(KEY, "alice", 1000.7, 60, {"iss": "windlass", "sun": "root"})

    assert claims_of(token, KEY) == {"iss": "windlass", "exp": 1060, "iat": 1000, "sun": "alice"}
    assert claims_of(token, b"another key") is None


@pytest.mark.parametrize("claims", ["!", "bm8", "WzFd", "\xe9"])
def test_what_is_signed_but_no_token_has_no_claims(claims: str) -> None:
    signed = f"e30.{claims}"
    signature = hmac.new(KEY, signed.encode(), sha256).digest()
    text = base64.urlsafe_b64encode(signature).rstrip(b"=").decode()
    assert claims_of(f"{signed}.{text}", KEY) is None


@pytest.mark.parametrize("text", ["", "nothing", "a.b.c", "a.b.\xe9"])
def test_what_is_no_token_has_no_claims(text: str) -> None:
    assert claims_of(text, KEY) is None
