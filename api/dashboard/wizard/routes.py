"""The addresses of the wizard. Whoever may view content may see what an import has done; all that
leads there is for those who may edit."""

from __future__ import annotations

from aiohttp import web

from api.dashboard.pages import EDIT, VIEW, action, page
from api.dashboard.pages import upload as uploading
from api.dashboard.visit import ROOT
from api.dashboard.wizard import columns, preview, problems, result, run, upload
from api.dashboard.wizard.places import receiving
from api.dashboard.wizard.steps import back_to, form_step, step

_ONE = f"{ROOT}/imports/{{id:[^/]+}}"


def routes() -> list[web.RouteDef]:
    return [
        web.get(f"{ROOT}/imports/new", page(EDIT, upload.ask)),
        web.post(f"{ROOT}/imports", uploading(EDIT, receiving(upload.receive))),
        web.get(f"{_ONE}/columns", step(columns.columns)),
        web.post(f"{_ONE}/columns", form_step(columns.map_columns)),
        web.post(f"{_ONE}/reading", form_step(columns.read_again)),
        web.get(f"{_ONE}/reading", back_to("columns")),
        web.get(f"{_ONE}/preview", step(preview.preview)),
        web.get(f"{_ONE}/problems.csv", step(problems.problems)),
        web.get(f"{_ONE}/run", back_to("preview")),
        web.post(f"{_ONE}/run", form_step(run.run)),
        web.get(f"{_ONE}/revert", page(EDIT, result.ask_to_revert)),
        web.post(f"{_ONE}/revert", action(EDIT, result.revert)),
        web.get(f"{ROOT}/imports/{{id:[^/]+}}.json", page(VIEW, result.as_json)),
        web.get(_ONE, page(VIEW, result.result)),
    ]
