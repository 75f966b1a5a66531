"""Settings are read from the environment, and every setting is documented."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from asyncpg.connect_utils import SessionAttribute, SSLMode

from deploy.databases import ReadModel, read_models, selected
from deploy.environment import _OPTIONS, describe, load_settings, unknown_names
from deploy.settings import NamedReadModel, Settings, SettingsError, without_password
from write_side.postgres.pooler import PoolerUrl

OPERATIONS = Path(__file__).parents[3] / "deploy/docs/operations.md"
URL = "postgresql://ann:secret@db.example.com:5432/content"


def test_without_variables_the_defaults_apply() -> None:
    settings = load_settings({"HOME": "/somewhere"})
    assert (settings.data, settings.host, settings.port) == (".contentlog", "127.0.0.1", 8080)
    assert (settings.workers, settings.max_body_bytes) == (1, 4194304)
    assert (settings.read_your_writes_ms, settings.event_store_url) == (2000, None)


def test_variables_are_converted_to_their_types() -> None:
    settings = load_settings({"CONTENTLOG_PORT": "9000", "CONTENTLOG_EVENT_STORE_URL": URL})
    assert (settings.port, settings.event_store_url) == (9000, URL)


def test_an_environment_is_read_without_evaluating_annotations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Evaluating them takes a millisecond, and was repeated for every variable."""
    monkeypatch.delattr(msgspec.structs, "fields")
    assert load_settings({"HOME": "/root", "CONTENTLOG_PORT": "9000"}).port == 9000


def test_an_empty_variable_counts_as_not_set() -> None:
    assert load_settings({"CONTENTLOG_PORT": "", "CONTENTLOG_READ_MODEL_URL": ""}) == Settings()


@pytest.mark.parametrize(
    ("name", "value", "takes"),
    [
        ("CONTENTLOG_PORT", "http", "a whole number from 1 to 65535, not 'http'"),
        ("CONTENTLOG_PORT", "70000", "a whole number from 1 to 65535, not '70000'"),
        ("CONTENTLOG_WORKERS", "0", "a whole number from 1 to 256, not '0'"),
        ("CONTENTLOG_LOG_FORMAT", "xml", "json or text, not 'xml'"),
        ("CONTENTLOG_MAX_BODY_BYTES", "4MB", "bytes from 1024 to 2^40, not '4MB'"),
        ("CONTENTLOG_REBUILD_MEMORY", "5000000000000", "2^40, not '5000000000000'"),
        ("CONTENTLOG_READ_YOUR_WRITES_MS", "-1", "milliseconds from 0 to 60000, not '-1'"),
        ("CONTENTLOG_KEY_RATE_LIMIT", "-1", "requests from 0 to 10^12; 0 is no limit, not '-1'"),
        ("CONTENTLOG_IP_RATE_LIMIT", "many", "from 0 to 10^12; 0 is no limit, not 'many'"),
        (
            "CONTENTLOG_COST_LIMIT",
            "9" * 20,
            f"units from 0 to 10^12; 0 is no limit, not '{'9' * 20}'",
        ),
        ("CONTENTLOG_CACHE_BYTES", "-1", "bytes from 0 to 2^40; 0 is no cache, not '-1'"),
        ("CONTENTLOG_CHANGES_KEPT_DAYS", "36501", "from 0 to 36500; 0 is all, not '36501'"),
        ("CONTENTLOG_STREAMS_PER_KEY", "100001", "streams from 0 to 100000, not '100001'"),
        ("CONTENTLOG_THUMBNAILS", "never", "true or false, not 'never'"),
        (
            "CONTENTLOG_TRUSTED_PROXIES",
            "10.0.0.1, proxy.example",
            "by commas: 'proxy.example' does not appear to be an IPv4 or IPv6 network",
        ),
    ],
)
def test_an_invalid_setting_is_named_with_what_it_takes(name: str, value: str, takes: str) -> None:
    with pytest.raises(SettingsError) as refusal:
        load_settings({name: value})
    assert str(refusal.value).startswith(f"{name} takes ")
    assert str(refusal.value).endswith(takes)


def test_replicas_are_separated_by_commas_and_may_have_several_hosts() -> None:
    several = "postgresql://ann:secret@a:5432,b:5432/content"
    settings = load_settings({"CONTENTLOG_READ_REPLICA_URLS": f"{URL},{several}"})
    assert settings.replica_urls == (URL, several)
    spaced = load_settings({"CONTENTLOG_READ_REPLICA_URLS": f" {URL},  {several} "})
    assert spaced.replica_urls == (URL, several)
    assert Settings().replica_urls == ()
    [shown] = [one.value for one in describe(settings) if one.name.endswith("READ_REPLICA_URLS")]
    assert shown == (
        "postgresql://ann:…@db.example.com:5432/content,postgresql://ann:…@a:5432,b:5432/content"
    )


@pytest.mark.parametrize(
    ("name", "needed"),
    [("READ_MODEL_POOL_URL", "READ_MODEL_URL"), ("OWNER_URL", "EVENT_STORE_URL")],
    ids=["pooler", "owner"],
)
def test_a_pooler_or_owner_url_needs_the_url_of_the_database(name: str, needed: str) -> None:
    with pytest.raises(SettingsError, match=f"{name} is set, but CONTENTLOG_{needed} is not"):
        load_settings({f"CONTENTLOG_{name}": URL})


@pytest.mark.parametrize("pooled", [True, False])
def test_replicas_are_behind_poolers_only_where_the_setting_says_so(pooled: bool) -> None:
    environment = {
        "CONTENTLOG_READ_REPLICA_URLS": URL,
        "CONTENTLOG_READ_REPLICAS_POOLED": str(pooled),
    }
    [url] = load_settings(environment).replica_urls
    assert (url, isinstance(url, PoolerUrl)) == (URL, pooled)


def test_a_bad_list_of_urls_is_refused_without_showing_its_passwords() -> None:
    with pytest.raises(SettingsError, match="takes PostgreSQL URLs") as refusal:
        load_settings({"CONTENTLOG_READ_REPLICA_URLS": f"{URL} {URL}"})
    assert "secret" not in str(refusal.value)


def test_a_bad_url_is_refused_without_showing_its_password() -> None:
    with pytest.raises(SettingsError) as refusal:
        load_settings({"CONTENTLOG_EVENT_STORE_URL": "mysql://ann:secret@db/content"})
    assert "CONTENTLOG_EVENT_STORE_URL takes a PostgreSQL URL" in str(refusal.value)
    assert "secret" not in str(refusal.value)


def test_every_setting_is_documented() -> None:
    described = describe(Settings())
    fields = [*msgspec.structs.fields(Settings), *msgspec.structs.fields(NamedReadModel)]
    assert len(described) == len(fields) - 1  # named_models is not a setting
    assert all(one.meaning and one.takes and one.default for one in described)


def test_the_documentation_lists_every_setting() -> None:
    section = OPERATIONS.read_text("utf-8").partition("<!-- settings -->")[2]
    section = section.partition("<!-- /settings -->")[0]
    assert [line for line in section.splitlines() if line.startswith("|")] == [
        "| Setting | Default | Meaning |",
        "|---|---|---|",
        *(
            f"| `{each.name}` | {each.default} | {each.meaning}. Takes {each.takes}. |"
            for each in describe(Settings())
        ),
    ]


def test_values_are_shown_without_passwords() -> None:
    shown = {one.name: one.value for one in describe(Settings(event_store_url=URL))}
    assert shown["CONTENTLOG_EVENT_STORE_URL"] == "postgresql://ann:…@db.example.com:5432/content"
    assert without_password("postgresql://contentlog@/contentlog?host=/run") == (
        "postgresql://contentlog@/contentlog?host=/run"
    )
    assert without_password("postgresql://[oops") == "postgresql://[oops"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("ann:s/ecret@db/content", "ann:…@db/content"),
        ("ann:s?ecret@db/content", "ann:…@db/content"),
        ("ann:s#ecret@db/content", "ann:…@db/content"),
        ("ann:s[ecret@db/content", "ann:…@db/content"),
        ("db/content?user=ann&password=secret", "db/content?user=ann&password=…"),
        ("ann@db/content?sslpassword=secret&port=1", "ann@db/content?sslpassword=…&port=1"),
        ("db:1/content?user=ann@example", "db:1/content?user=ann@example"),
        ("ann:1?b=@c@db/content", "ann:…@db/content"),
        ("ann:s?c=1@db/content?password=secret", "ann:…@db/content?password=…"),
        ("db?password=secret&user=ann@example", "db?password=…&user=ann@example"),
    ],
)
def test_no_part_of_a_password_is_shown(url: str, shown: str) -> None:
    assert without_password(f"postgresql://{url}") == f"postgresql://{shown}"


@pytest.mark.parametrize("character", "/?#[")
@pytest.mark.parametrize(
    "name", ["EVENT_STORE_URL", "READ_MODEL_POOL_URL", "READ_REPLICA_URLS", "READ_MODEL_EU_URL"]
)
def test_a_password_with_an_unencoded_character_is_refused(name: str, character: str) -> None:
    url = f"postgresql://ann:s{character}ecret@db.example.com:5432/content"
    with pytest.raises(SettingsError) as refusal:
        load_settings({f"CONTENTLOG_{name}": f"{URL},{url}" if name.endswith("S") else url})
    assert str(refusal.value).startswith(f"CONTENTLOG_{name} takes ")
    assert str(refusal.value).endswith(
        "write special characters of a password as %XX, such as %2F for '/'"
    )
    assert "ecret" not in str(refusal.value)


@pytest.mark.parametrize("name", ["EVENT_STORE_URL", "READ_REPLICA_URLS", "READ_MODEL_EU_URL"])
@pytest.mark.parametrize(
    ("option", "takes"),
    [("sslmode", "disable | allow"), ("target_session_attrs", "any | primary")],
)
def test_an_unknown_value_of_an_option_is_refused(name: str, option: str, takes: str) -> None:
    with pytest.raises(SettingsError) as refusal:
        load_settings({f"CONTENTLOG_{name}": f"{URL}?application_name=x&{option}=foo"})
    assert str(refusal.value).startswith(f"CONTENTLOG_{name}: {option} takes {takes} | ")
    assert "foo" not in str(refusal.value)


def test_the_values_of_options_are_those_of_asyncpg() -> None:
    assert [one.replace("-", "_") for one in _OPTIONS["sslmode"]] == list(SSLMode.__members__)
    assert list(_OPTIONS["target_session_attrs"]) == [one.value for one in SessionAttribute]


@pytest.mark.parametrize(
    "url",
    [
        "postgres://db",
        "postgresql://",
        "postgresql:///content",
        "postgresql://ann:s%2Fecret%23@db/content",
        "postgresql://ann:a@b c@db:5432/the content",
        "postgresql://ann:secret@[::1]:5432,db:5433,[2001:db8::2]/content?sslmode=require",
        "postgresql://ann@%2Frun%2Fpostgresql/content",
        "postgresql:///content?host=/run/a@b&TimeZone=UTC",
        "postgresql://ann@/content?host=a,b&target_session_attrs=read-write",
    ],
)
def test_each_form_of_url_is_taken(url: str) -> None:
    settings = load_settings(
        {
            "CONTENTLOG_EVENT_STORE_URL": url,
            "CONTENTLOG_READ_REPLICA_URLS": f"{url}, {url}",
        }
    )
    assert (settings.event_store_url, settings.replica_urls) == (url, (url, url))


def test_a_misspelt_variable_is_reported_and_those_of_tests_are_not() -> None:
    environment = {
        "CONTENTLOG_PROT": "1",
        "CONTENTLOG_PORT": "1",
        "CONTENTLOG_TEST_DATABASE_URL": "x",
    }
    assert unknown_names({**environment, "CONTENTLOG_X": ""}) == {
        "CONTENTLOG_PROT": "'CONTENTLOG_PROT' is set, but there is no such setting; "
        "did you mean 'CONTENTLOG_PORT'?",
        "CONTENTLOG_X": "'CONTENTLOG_X' is set, but there is no such setting",
    }


EU = {
    "CONTENTLOG_READ_MODEL_EU_URL": "postgresql://ann:secret@eu/content",
    "CONTENTLOG_READ_MODEL_EU_WORKSPACES": "other, acme,acme",
    "CONTENTLOG_READ_MODEL_EU_REPLICA_URLS": f"{URL},{URL}",
}


def test_a_named_read_model_has_settings_of_its_own() -> None:
    settings = load_settings(
        {**EU, "CONTENTLOG_READ_MODEL_URL": URL, "CONTENTLOG_READ_MODEL": "eu"}
    )
    default, eu = read_models(settings)
    assert (default.name, default.url, default.workspaces) == ("default", URL, None)
    assert (eu.name, eu.workspaces, eu.replica_urls) == ("eu", ("acme", "other"), (URL, URL))
    assert eu.setting == "CONTENTLOG_READ_MODEL_EU_URL"
    assert selected(settings) == eu
    assert selected(load_settings(EU)) == ReadModel()
    assert unknown_names(EU) == {}
    shown = {one.name: one.value for one in describe(settings)}
    assert shown["CONTENTLOG_READ_MODEL_EU_URL"] == "postgresql://ann:…@eu/content"
    assert not any("<NAME>" in name for name in shown)


def test_an_unknown_read_model_is_refused_with_those_that_are_configured() -> None:
    settings = load_settings({**EU, "CONTENTLOG_READ_MODEL": "us"})
    with pytest.raises(SettingsError) as refusal:
        selected(settings)
    assert str(refusal.value) == (
        "there is no read model 'us': choose from 'default', 'eu', or set "
        "CONTENTLOG_READ_MODEL_US_URL"
    )


@pytest.mark.parametrize(
    ("environment", "refused"),
    [
        (
            {"CONTENTLOG_READ_MODEL": "EU"},
            "CONTENTLOG_READ_MODEL takes a name in lower case: 1 to 31 letters and digits, "
            "beginning with a letter, not 'EU'",
        ),
        (
            {"CONTENTLOG_READ_MODEL_US_WORKSPACES": "acme"},
            "CONTENTLOG_READ_MODEL_US_WORKSPACES is set, but CONTENTLOG_READ_MODEL_US_URL is not",
        ),
        (
            {**EU, "CONTENTLOG_READ_MODEL_EU_WORKSPACES": "acme,,Other"},
            "CONTENTLOG_READ_MODEL_EU_WORKSPACES takes slugs of workspaces, separated by commas, "
            "not ''",
        ),
        (
            {"CONTENTLOG_READ_MODEL_EU_URL": "mysql://ann:secret@eu"},
            "CONTENTLOG_READ_MODEL_EU_URL takes a PostgreSQL URL",
        ),
        (
            {**EU, "CONTENTLOG_READ_MODEL_URL": "postgresql://ann:another@eu/content"},
            "CONTENTLOG_READ_MODEL_URL and CONTENTLOG_READ_MODEL_EU_URL name the same database: "
            "each read model needs its own",
        ),
    ],
)
def test_a_bad_read_model_is_refused(environment: dict[str, str], refused: str) -> None:
    with pytest.raises(SettingsError) as refusal:
        load_settings(environment)
    assert str(refusal.value) == refused


POOLED = {"CONTENTLOG_READ_MODEL_URL": URL, "CONTENTLOG_READ_MODEL_POOL_URL": URL}


@pytest.mark.parametrize(
    "environment",
    [
        {"CONTENTLOG_READ_MODEL_POOL_URL": URL, "CONTENTLOG_READ_MODEL_POOL_WORKSPACES": "acme"},
        {**POOLED, "CONTENTLOG_READ_MODEL_POOL_ENGINE": "citus"},
        {**POOLED, "CONTENTLOG_READ_MODEL": "pool"},
    ],
)
def test_a_read_model_whose_setting_has_another_meaning_is_refused(
    environment: dict[str, str],
) -> None:
    with pytest.raises(SettingsError) as refusal:
        selected(load_settings(environment))
    assert str(refusal.value) == (
        "a read model cannot have the name 'pool', because CONTENTLOG_READ_MODEL_POOL_URL is a "
        "setting of the read model 'default': choose another name"
    )
    assert selected(load_settings(POOLED)).pool_url == URL


@pytest.mark.parametrize("name", ["EU_WEST", "1", "DEFAULT", "A" * 32])
def test_a_variable_whose_name_is_not_that_of_a_read_model_is_reported(name: str) -> None:
    variable = f"CONTENTLOG_READ_MODEL_{name}_URL"
    assert load_settings({variable: URL}) == Settings()
    assert unknown_names({variable: URL})[variable] == (
        f"'{variable}' is set, but the name of a read model takes 1 to 31 letters and digits, "
        "beginning with a letter, and not 'default'"
    )
