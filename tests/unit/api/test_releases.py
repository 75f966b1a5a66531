"""The resources of a request and its response are released at their end."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from aiohttp.test_utils import make_mocked_request

from api.http.large_bodies import (
    after_handling,
    after_sending,
    request_handled,
    response_sent,
)


@pytest.mark.parametrize(
    ("add", "end"), [(after_handling, request_handled), (after_sending, response_sent)]
)
def test_everything_is_released_even_if_a_release_fails(
    add: Callable[..., None], end: Callable[..., None]
) -> None:
    request = make_mocked_request("GET", "/")
    released = []

    def release_of(number: int) -> Callable[[], object]:
        def release() -> None:
            released.append(number)
            if number == 1:
                raise OSError(number)

        return release

    for number in range(3):
        add(request, release_of(number))
    with pytest.raises(OSError, match="1"):
        end(request)
    end(request)
    assert sorted(released) == [0, 1, 2]
