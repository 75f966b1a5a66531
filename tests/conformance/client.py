"""Sends requests to the live server and checks every response against its OpenAPI document."""

from __future__ import annotations

import aiohttp
from yarl import URL

from tests.conformance.cases import Case, Request
from tests.contract import Contract
from tests.integration.api.server import Answer


class CheckedClient:
    """Sends the requests of all rows and returns the responses."""

    def __init__(self, session: aiohttp.ClientSession, contract: Contract) -> None:
        self._session = session
        self._contract = contract

    async def check(self, case: Case) -> None:
        case.check(await self.send(case.request))

    async def send(self, request: Request) -> Answer:
        key = {"Authorization": f"Bearer {request.key}"} if request.key else {}
        async with self._session.request(
            request.method,
            URL(request.target, encoded=True),
            headers={**key, **request.headers},
            data=request.body,
            allow_redirects=False,
        ) as response:
            answer = Answer(response.status, response.headers, await response.text())
        self._contract.check(
            request.method, request.target, answer.status, answer.headers, answer.text
        )
        return answer
