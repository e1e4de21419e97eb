"""Which tasks a process knows, and whether arguments fit them."""

import logging
import sys
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from django.apps import AppConfig, apps
from django.core.exceptions import ImproperlyConfigured
from hypothesis import given
from hypothesis import strategies as st

from scheduling.compat import task
from scheduling.declaring import registry
from scheduling.declaring.signatures import signature_of
from scheduling.errors import InvalidTask, UnknownHandler
from scheduling.payload import clean_text
from scheduling.project_checks import modules_of_tasks_can_be_imported


@task(name="test.registry.named")
def named(context: Any, who: str, times: int = 1, *, loud: bool | None = None) -> None: ...


@task()
def unnamed(*amounts: float, **details: dict[str, int]) -> None: ...


@task()
def nested(
    numbers: list[int] | None = None,
    rows: list[dict[str, str | None]] = [],  # noqa: B006  # read only
    either: list[int] | list[str] | str = "",
    by_name: Mapping[str, int] | None = None,
    days: list[date] = [],  # noqa: B006  # read only
) -> None: ...


@task()
def untold(anything: "Unknown") -> None: ...  # type: ignore[name-defined]  # noqa: F821


@task()
def only_positional(a: int, /, x: int = 0) -> None: ...


ANY_VALUE = st.sampled_from([None, True, 7, 1.5, "text", b"text", [1], ["x"], {"a": 1}, (1,)])


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The `tasks` module, yet to be written, of an installed app."""
    package = tmp_path / "an_app"
    package.mkdir()
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    config = AppConfig.create("an_app")
    monkeypatch.setattr(apps, "get_app_configs", lambda: [config])
    yield package / "tasks.py"
    registry._forget("an_app.tasks")
    registry._failures.clear()
    for module in [name for name in sys.modules if name.startswith("an_app")]:
        del sys.modules[module]


class TestNames:
    def test_a_task_is_known_by_its_api_name_and_by_its_place(self) -> None:
        assert registry.get("test.registry.named") is named
        assert registry.get(f"{__name__}.named") is named
        assert registry.get(f"{__name__}.unnamed") is unnamed

    def test_only_tasks_with_an_api_name_are_exposed(self) -> None:
        assert registry.exposed("test.registry.named") is named
        assert registry.exposed(f"{__name__}.named") is None
        assert registry.exposed(f"{__name__}.unnamed") is None
        assert registry.exposed("nothing") is None

    def test_names_are_sorted_and_hold_the_built_in_tasks(self) -> None:
        registry.discover()
        known = registry.names()
        assert known == sorted(known)
        assert {"demo.echo", "demo.flaky", "demo.sleep", "http.request"} <= set(known)

    def test_an_unknown_name_is_an_unknown_handler(self) -> None:
        with pytest.raises(UnknownHandler, match=r"invoices\.send"):
            registry.get("invoices.send")

    def test_a_copy_does_not_replace_the_task_it_was_made_from(self) -> None:
        named.using(priority=9, queue_name="mail")
        assert registry.get("test.registry.named") is named

    def test_two_tasks_of_one_name_are_refused_with_both_named(self) -> None:
        with pytest.raises(ImproperlyConfigured) as refusal:
            task(name="test.registry.named")(unnamed.func)
        assert f"{__name__}.named" in str(refusal.value)
        assert f"{__name__}.unnamed" in str(refusal.value)
        assert registry.get("test.registry.named") is named


class TestDiscovery:
    def test_the_tasks_of_installed_apps_are_found(self, app: Path) -> None:
        app.write_text(
            "from scheduling.compat import task\n@task(name='test.found')\ndef found(): ...\n"
        )
        registry.discover()
        assert registry.get("test.found").module_path == "an_app.tasks.found"

    @pytest.mark.parametrize(
        "last_line", ["1 / 0", "raise SystemExit", "exit()", "import no_such_module"]
    )
    def test_a_module_that_fails_is_loud_and_its_tasks_are_unknown(
        self, app: Path, caplog: pytest.LogCaptureFixture, last_line: str
    ) -> None:
        app.write_text(
            "from scheduling.compat import task\n"
            f"@task(name='test.half')\ndef half(): ...\n{last_line}\n"
        )
        registry.discover()

        (record,) = caplog.records
        assert record.levelno == logging.ERROR
        assert record.exc_info
        assert "an_app.tasks" in record.message
        with pytest.raises(UnknownHandler):
            registry.get("test.half")
        (warning,) = modules_of_tasks_can_be_imported()
        assert warning.id == "scheduling.W001"
        assert "an_app.tasks" in warning.msg

    def test_a_module_that_was_mended_is_found_the_next_time(
        self, app: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        app.write_text("1 / 0")
        registry.discover()
        assert registry.failures().keys() == {"an_app.tasks"}

        app.write_text(
            "from scheduling.compat import task\n@task(name='test.mended')\ndef mended(): ...\n"
        )
        registry.discover()
        assert registry.get("test.mended").name == "test.mended"
        assert registry.failures() == {}

    def test_a_wrong_configuration_stops_the_process(self, app: Path) -> None:
        app.write_text(
            "from scheduling.compat import task\n"
            "@task(name='test.registry.named')\ndef other(): ...\n"
        )
        with pytest.raises(ImproperlyConfigured, match=r"an_app\.tasks\.other"):
            registry.discover()


class TestBind:
    @pytest.mark.parametrize(
        ("args", "kwargs"),
        [
            (["Ada"], {}),
            ([], {"who": "Ada"}),
            (["Ada", 2], {"loud": True}),
            (["Ada"], {"times": 2, "loud": None}),
        ],
    )
    def test_arguments_that_fit_pass(self, args: list[Any], kwargs: dict[str, Any]) -> None:
        registry.bind(named, args, kwargs)

    @pytest.mark.parametrize(
        ("args", "kwargs", "faults"),
        [
            ([], {}, {"payload.who": "is missing"}),
            (["Ada"], {"who": "Bob"}, {"payload.who": "is given twice"}),
            (
                ["Ada"],
                {"shout": 1},
                {"payload.shout": "is not known; the task takes who, times, loud"},
            ),
            (
                ["Ada"],
                {"context": 1},
                {"payload.context": "is not known; the task takes who, times, loud"},
            ),
            (["Ada", 1, True], {}, {"payload": "has 3 unnamed arguments, and 2 are taken"}),
            ([7], {}, {"payload.who": "must be text"}),
            (["Ada", True], {}, {"payload.times": "must be a whole number"}),
            (["Ada", 1.0], {}, {"payload.times": "must be a whole number"}),
            (["Ada"], {"loud": 1}, {"payload.loud": "must be true or false or null"}),
            (
                [],
                {"times": "2"},
                {"payload.who": "is missing", "payload.times": "must be a whole number"},
            ),
        ],
    )
    def test_what_does_not_fit_is_named(
        self, args: list[Any], kwargs: dict[str, Any], faults: dict[str, str]
    ) -> None:
        with pytest.raises(InvalidTask) as refusal:
            registry.bind(named, args, kwargs)
        assert refusal.value.errors == faults

    def test_a_function_that_takes_anything_is_given_anything(self) -> None:
        registry.bind(unnamed, [1, "two"], {"details": 3, "more": []})

    @pytest.mark.parametrize(
        "kwargs",
        [
            {"numbers": [1, 2], "rows": [{"a": "x", "b": None}, {}]},
            {"numbers": (1, 2), "rows": [MappingProxyType({"a": "x"})]},
            {"numbers": None, "rows": []},
            {"either": [1, 2]},
            {"either": ["a", "b"]},
            {"either": "ab"},
            {"by_name": {"a": "x"}, "days": ["Monday", 7]},
        ],
    )
    def test_what_lists_and_objects_hold_passes_if_it_fits_or_cannot_be_told(
        self, kwargs: dict[str, Any]
    ) -> None:
        registry.bind(nested, [], kwargs)

    @pytest.mark.parametrize(
        ("kwargs", "faults"),
        [
            ({"numbers": [0, 1, 2, "3"]}, {"payload.numbers[3]": "must be a whole number"}),
            ({"numbers": {"a": 1}}, {"payload.numbers": "must be a list or null"}),
            ({"numbers": [True, "x"]}, {"payload.numbers[0]": "must be a whole number"}),
            ({"rows": [{}, {"a": 1}]}, {"payload.rows[1].a": "must be text or null"}),
            ({"rows": [{}, []]}, {"payload.rows[1]": "must be an object"}),
            ({"either": [1, "a"]}, {"payload.either[1]": "must be a whole number"}),
            ({"either": 1}, {"payload.either": "must be a list or text"}),
            (
                {"numbers": [""], "rows": [{"a" * 200: 1}], "days": 1},
                {
                    "payload.numbers[0]": "must be a whole number",
                    f"payload.rows[0].{clean_text('a' * 200, 100)}": "must be text or null",
                    "payload.days": "must be a list",
                },
            ),
        ],
    )
    def test_what_does_not_fit_into_a_list_or_an_object_is_named_by_its_place(
        self, kwargs: dict[str, Any], faults: dict[str, str]
    ) -> None:
        with pytest.raises(InvalidTask) as refusal:
            registry.bind(nested, [], kwargs)
        assert refusal.value.errors == faults

    @given(
        st.sampled_from([named, unnamed, nested, untold, only_positional]),
        st.lists(ANY_VALUE, max_size=3),
        st.dictionaries(st.sampled_from(["who", "times", "loud", "numbers", "a", "x"]), ANY_VALUE),
    )
    def test_what_fits_at_a_glance_has_no_fault(
        self, declared: Any, args: list[Any], kwargs: dict[str, Any]
    ) -> None:
        signature = signature_of(declared.func, takes_context=declared.takes_context)
        if signature.fits(args, kwargs):
            assert signature.faults(args, kwargs) == {}

    @pytest.mark.parametrize(
        ("args", "kwargs"), [(["you"], {}), (["you", 2], {}), ([], {"who": "you", "loud": True})]
    )
    def test_ordinary_arguments_need_no_second_look(
        self, args: list[Any], kwargs: dict[str, Any]
    ) -> None:
        assert signature_of(named.func, takes_context=True).fits(args, kwargs)

    def test_an_annotation_only_a_type_checker_knows_binds_nobody(self) -> None:
        registry.bind(untold, [object()], {})

    def test_the_built_in_tasks_say_what_they_take(self) -> None:
        with pytest.raises(InvalidTask) as refusal:
            registry.bind(registry.get("http.request"), [], {"url": 1, "headers": [], "methud": ""})
        assert refusal.value.errors == {
            "payload.url": "must be text",
            "payload.headers": "must be an object or null",
            "payload.methud": "is not known; the task takes url, method, headers, body",
        }

    def test_headers_of_a_request_are_text(self) -> None:
        with pytest.raises(InvalidTask) as refusal:
            registry.bind(registry.get("http.request"), [], {"url": "", "headers": {"a": 1}})
        assert refusal.value.errors == {"payload.headers.a": "must be text"}
