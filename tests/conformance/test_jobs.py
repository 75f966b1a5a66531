"""Imports over HTTP: what is accepted, what the result is, and what is refused."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from msgspec.structs import replace

from api.imports import multipart_form
from tests.conformance.cases import Case, Request, get, post, table, with_method
from tests.conformance.client import CheckedClient
from tests.conformance.expectations import (
    carries_all_headers,
    envelope,
    error,
    header,
    says,
    without_cors,
)
from tests.conformance.isolated_workspace import IsolatedWorkspace, OpenWorkspace
from tests.conformance.magazine import DESK, KEY, NOT_SET_UP, VIEWER
from tests.integration.api.server import BOTH, Answer
from write_side.imports.table import Limits

pytestmark = pytest.mark.asyncio(loop_scope="package")

PATH = "/v1/imports"
ROWS = b"Title,Body\nOne,x\nTwo,y\n"
BAD = b"Title,Body,Views\nOne,x,many\nTwo,y,2\n"
UNKNOWN = f"{PATH}/018f0000-0000-7000-8000-00000000dead"


def upload(
    document: bytes | None = ROWS,
    name: str = "posts.csv",
    *,
    target: str = PATH,
    key: str | None = DESK,
    headers: dict[str, str] | None = None,
    **parts: str,
) -> Request:
    """The form as curl sends it. A part with the value "-" is omitted; ``map_Body`` means
    map[Body], and ``key_`` the part ``key``."""
    lines: list[bytes] = []
    if document is not None:
        lines += [b'--cut\r\nContent-Disposition: form-data; name="file"; filename="%b"']
        lines[-1] %= name.encode()
        lines += [b"Content-Type: application/octet-stream", b"", document]
    for part, text in {"contentType": "posts", **parts}.items():
        field = f"map[{part.removeprefix('map_')}]" if part.startswith("map_") else part.rstrip("_")
        if text != "-":
            lines += [f'--cut\r\nContent-Disposition: form-data; name="{field}"'.encode()]
            lines += [b"", text.encode()]
    body = b"\r\n".join([*lines, b"--cut--", b""])
    sent = {"Content-Type": "multipart/form-data; boundary=cut", **(headers or {})}
    return Request("POST", target, key, sent, body)


NO_TEXT = upload(map_x="Title")
NO_TEXT = replace(NO_TEXT, body=(NO_TEXT.body or b"").replace(b"map[x]", b"map[\xff]"))
"""The name of a part is not UTF-8."""


async def accepted(workspace: IsolatedWorkspace, document: bytes = ROWS, **more: Any) -> str:
    """Uploads a file and returns the location of its import."""
    answer = await workspace.send(upload(document, **more))
    assert answer.status == 202, answer.text
    return str(answer.headers["Location"])


async def ended(workspace: IsolatedWorkspace, path: str) -> Any:
    """Waits until the import has ended and returns it."""
    async with asyncio.timeout(60):
        while True:
            answer = await workspace.get(path)
            assert answer.status == 200, answer.text
            if answer.data["state"] not in ("checking", "importing"):
                return answer.data
            await asyncio.sleep(0.02)


async def done(workspace: IsolatedWorkspace, document: bytes = ROWS, **more: Any) -> Any:
    return await ended(workspace, await accepted(workspace, document, **more))


async def reverted(workspace: IsolatedWorkspace, path: str) -> Answer:
    return await workspace.send(with_method("POST", f"{path}/revert"))


async def slugs(workspace: IsolatedWorkspace) -> list[str]:
    return sorted(entry["slug"] for entry in await workspace.read("/v1/content?limit=100"))


@table(
    Case("jobs.7 a JSON body is 415", post({"contentType": "posts"}, PATH), 415, says("file")),
    Case("jobs.7 a form without parts is 415", with_method("POST", PATH, key=DESK), 415),
    Case("jobs.7 another extension is 415", upload(name="posts.txt"), 415, says("posts.txt")),
    Case("jobs.7 a file that is not a table is 415", upload(b"%PDF-1.7"), 415, says("PDF")),
    Case("jobs.7 a workbook named .csv is 415", upload(b"PK\3\4"), 415, says(".xlsx")),
    Case("jobs.9 no file is 400", upload(None), 400, says("file")),
    Case("jobs.9 no content type is 400", upload(contentType="-"), 400, says("contentType")),
    Case("jobs.9 a blank content type is 400", upload(contentType=" "), 400, says("contentType")),
    Case("jobs.9 an unknown part is 400", upload(dryrun="true"), 400, says("dryrun", "dryRun")),
    Case(
        "jobs.9 a wrong option is 400",
        upload(repeats="rename"),
        400,
        says("repeats takes one of skip, update, suffix", "rename"),
    ),
    Case("jobs.9 a wrong boolean is 400", upload(update="yes"), 400, says("update", "yes")),
    Case("jobs.9 an unknown language is 400", upload(language="xx"), 400, says("xx")),
    Case("jobs.9 an encoding may have another common name", upload(encoding="ISO-8859-1"), 202),
    Case("jobs.9 an unknown encoding is 400", upload(encoding="ebcdic"), 400, says("ebcdic")),
    Case("jobs.9 a name that is not text is 400", NO_TEXT, 400, says("form", "send", "UTF-8")),
    Case("jobs.10 a NUL as an import id is 404", get(f"{PATH}/%00", key=DESK), 404),
    Case("jobs.10 so is its revert", with_method("POST", f"{PATH}/%00/revert", key=DESK), 404),
    Case("jobs.10 an unknown type is 404", upload(contentType="none"), 404),
    Case("jobs.10 an unknown import is 404", get(UNKNOWN, key=DESK), 404, without_cors),
    Case("jobs.10 an invalid id is 404", get(f"{PATH}/none", key=DESK), 404),
    Case("jobs.10 its revert is 404", with_method("POST", f"{UNKNOWN}/revert", key=DESK), 404),
    Case("jobs.11 no key is 401", upload(key=None), 401, carries_all_headers),
    Case("jobs.11 without content.edit it is 403", upload(key=VIEWER), 403, says("content.edit")),
    Case("jobs.11 reading needs it too", get(UNKNOWN, key=VIEWER), 403, says("content.edit")),
    Case("jobs.11 an unknown environment is 400", upload(target=f"{PATH}?environment=prod"), 400),
    Case(
        "jobs.11 staging that is not set up is 404",
        upload(target=f"{PATH}?environment=staging", key=NOT_SET_UP),
        404,
    ),
    Case("jobs.12 a page of another origin is refused", upload(None), 400, without_cors),
    Case("jobs.12 there is no preflight", with_method("OPTIONS", PATH), 405, without_cors),
    Case("jobs.12 there is no list", get(PATH, key=KEY), 405, header("Allow", "POST")),
)
async def test_jobs(case: Case, client: CheckedClient) -> None:
    await client.check(case)


async def test_jobs_1_a_file_is_accepted_with_202_and_its_location(
    open_workspace: OpenWorkspace,
) -> None:
    answer = await (await open_workspace()).send(upload())
    envelope("success", "data")(answer)
    import_id = answer.body["data"]["id"]
    assert (answer.status, answer.body["data"]["state"]) == (202, "checking")
    assert answer.headers["Location"] == f"{PATH}/{import_id}"


async def test_jobs_1_the_location_names_an_environment_of_a_header(
    open_workspace: OpenWorkspace,
) -> None:
    workspace = await open_workspace(staging=True)
    await workspace.open_staging()
    path = await accepted(workspace, headers={"X-Environment": "staging"})
    assert path.endswith("?environment=staging")
    assert (await ended(workspace, path))["state"] == "imported"
    assert await slugs(workspace) == []


async def test_jobs_2_the_location_has_state_progress_and_report(
    open_workspace: OpenWorkspace,
) -> None:
    workspace = await open_workspace()
    one = await done(workspace)
    assert list(one) == ["id", "state", "progress", "message", "report"]
    assert (one["state"], one["progress"]) == ("imported", {"rows": 2, "done": 2})
    report = one["report"]
    assert (report["importId"], report["by"]) == (one["id"], workspace.key)
    assert report["counts"]["new"] == 2
    assert await slugs(workspace) == ["one", "two"]


async def test_jobs_3_a_refused_import_has_a_reason_and_imports_nothing(
    open_workspace: OpenWorkspace,
) -> None:
    workspace = await open_workspace()
    one = await done(workspace, BAD)
    assert (one["state"], one["report"]["imported"]) == ("refused", False)
    assert one["message"] == "Nothing was imported: 1 row has errors"
    [cell] = one["report"]["rows"][0]["cells"]
    assert (cell["column"], cell["severity"], cell["cell"]) == ("Views", "error", "many")
    assert cell["reason"].startswith("takes a number, such as 1234.5")
    none = await done(workspace, BAD.replace(b",2", b",two"), readyOnly="true")
    assert none["state"] == "refused"
    assert none["message"] == "Nothing was imported: 2 rows have errors"
    twice = await done(workspace, b"Title,Body\nA,x\nA,y\n")
    assert twice["state"] == "refused"
    assert "choose with repeats or key" in twice["message"]
    assert await slugs(workspace) == []


async def test_jobs_4_options_are_those_of_the_command(open_workspace: OpenWorkspace) -> None:
    workspace = await open_workspace()
    ready = await done(workspace, BAD, readyOnly="true", status="published")
    assert (ready["state"], ready["report"]["counts"]["error"]) == ("imported", 1)
    dry = await done(workspace, dryRun="true", update="true", language="fr-FR")
    assert (dry["state"], dry["report"]["imported"]) == ("checked", False)
    assert dry["report"]["counts"]["new"] == 2
    keyed = await done(workspace, dryRun="true", key_="Body")
    assert [row["slug"] for row in keyed["report"]["rows"]] == ["x", "y"]
    await done(
        workspace,
        b"Name;Text;N\nA;x;1,5\nA;y;2\n",
        map_Name="Title",
        map_Text="body",
        map_3="views",
        delimiter="semicolon",
        decimalComma="true",
        repeats="suffix",
    )
    assert await slugs(workspace) == ["a", "a-2", "two"]


async def test_jobs_5_a_revert_is_202_and_so_is_its_repetition(
    open_workspace: OpenWorkspace,
) -> None:
    workspace = await open_workspace()
    path = await accepted(workspace)
    await ended(workspace, path)
    first = await reverted(workspace, path)
    assert (first.status, first.body["data"]["state"]) == (202, "reverted")
    assert len(re.findall(r'"at":"[^"]+:\d\d\.\d{3}Z"', first.text)) == 2
    assert len(first.body["data"]["report"]["reverted"]["deleted"]) == 2
    assert (await reverted(workspace, path)).text == first.text
    assert (await workspace.get(path)).body == first.body
    assert await slugs(workspace) == []


async def test_jobs_5_a_revert_of_an_unchanged_import_is_409(open_workspace: OpenWorkspace) -> None:
    workspace = await open_workspace()
    await done(workspace)
    for document, options in ((BAD, {}), (ROWS, {"dryRun": "true"}), (ROWS, {})):
        path = await accepted(workspace, document, **options)
        await ended(workspace, path)
        says("nothing to revert")(await reverted(workspace, path))
        assert (await reverted(workspace, path)).status == 409


async def test_jobs_6_an_idempotency_key_is_one_import(open_workspace: OpenWorkspace) -> None:
    workspace = await open_workspace()
    once = {"Idempotency-Key": "once"}
    first = await workspace.send(upload(headers=once))
    await ended(workspace, first.headers["Location"])
    again = await workspace.send(upload(headers=once))
    assert (again.status, again.text) == (202, first.text)
    assert again.headers["Location"] == first.headers["Location"]
    for other in (
        upload(BAD, headers=once),
        upload(name="b.csv", headers=once),
        upload(headers=once, update="true"),
    ):
        answer = await workspace.send(other)
        envelope("error")(answer)
        assert answer.status == 422
    assert await slugs(workspace) == ["one", "two"]


async def test_jobs_8_a_file_over_the_limit_is_413(
    open_workspace: OpenWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = await open_workspace()
    monkeypatch.setattr(multipart_form, "LIMITS", Limits(upload_bytes=100_000))
    answer = await workspace.send(upload(b"Title\n" + b"x" * 100_000))
    envelope("error")(answer)
    assert (answer.status, "posts.csv" in answer.body["error"]) == (413, True)


async def test_jobs_10_jobs_of_another_workspace_do_not_exist(
    open_workspace: OpenWorkspace,
) -> None:
    workspace, rival = await open_workspace(), await open_workspace()
    for document in (ROWS, BAD):
        path = await accepted(workspace, document)
        await ended(workspace, path)
        unknown = path.rpartition("/")[2]
        for answer in (await rival.get(path), await reverted(rival, path)):
            assert answer.status == 404
            error(f"There is no import '{unknown}'")(answer)
    assert await slugs(workspace) == ["one", "two"]


async def test_jobs_13_only_keys_with_service_view_see_positions_of_the_log(
    open_workspace: OpenWorkspace,
) -> None:
    workspace = await open_workspace()
    path = await accepted(workspace)
    await ended(workspace, path)
    answer = await reverted(workspace, path)
    report = answer.body["data"]["report"]
    assert (report["position"], report["reverted"]["position"]) == (None, None)
    assert not answer.headers["X-Content-Position"].isdigit()
    operated = await open_workspace((*BOTH, "service.view"))
    report = (await done(operated))["report"]
    assert report["position"] > 0


async def test_imports_1_a_file_of_too_many_rows_is_refused_as_a_whole(
    open_workspace: OpenWorkspace,
) -> None:
    workspace = await open_workspace()
    one = await done(workspace, b"Title,Body\n" + b"a,b\n" * 2001)
    assert (one["state"], one["report"]) == ("refused", None)
    assert one["message"] == (
        "posts.csv has 2,001 rows; the limit is 2,000: split it into several files"
    )


async def test_imports_2_one_import_is_one_unit(open_workspace: OpenWorkspace) -> None:
    """The rows refer to each other in a cycle: all ready rows are imported under one id, or
    none."""
    workspace = await open_workspace()
    cycle = b"Title,Body,Related\nA,x,b\nB,x,a\n"
    assert (await done(workspace, cycle + b"C,x,gone\n"))["state"] == "refused"
    assert await slugs(workspace) == []
    path = await accepted(workspace, cycle)
    assert (await ended(workspace, path))["report"]["counts"]["new"] == 2
    await reverted(workspace, path)
    assert await slugs(workspace) == []


async def test_imports_3_and_38_the_same_import_id_has_no_effect_the_second_time(
    open_workspace: OpenWorkspace,
) -> None:
    """Over HTTP the idempotency key identifies the import. The same file without the key is a new
    import; another file with the key is refused."""
    workspace = await open_workspace()
    once = {"Idempotency-Key": "spring"}
    first = await accepted(workspace, headers=once)
    assert await accepted(workspace, headers=once) == first
    await ended(workspace, first)
    anew = await done(workspace)
    assert (anew["state"], anew["report"]["counts"]["skipped"]) == ("imported", 2)
    other = await workspace.send(upload(b"Title,Body\nThree,x\n", headers=once))
    assert (other.status, await slugs(workspace)) == (422, ["one", "two"])
