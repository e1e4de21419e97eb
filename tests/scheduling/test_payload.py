"""What may travel in a task, and what is refused before anything is stored."""

import json
import math
from collections import UserDict, UserList
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduling import payload
from scheduling.errors import InvalidTask

LEVELS_OF_THE_FIELD = [100, 990, 3_000, 100_000]

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(payload.INTEGER_MIN, payload.INTEGER_MAX)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("abc"), inner),
    max_leaves=20,
)

odd_values = st.sampled_from(
    [
        None,
        1,
        2**64,
        -(2**63),
        1.5,
        math.nan,
        math.inf,
        "text",
        "é",
        "\0",
        "\ud800",
        b"\xff",
        object(),
    ]
)
odd_names: st.SearchStrategy[Any] = st.sampled_from(["a", "b", "\0", "\udfff", 1, None])


def fault_of(value: object) -> dict[str, str]:
    with pytest.raises(InvalidTask) as refusal:
        payload.check(value)
    return refusal.value.errors


def fault_in(body: bytes) -> dict[str, str]:
    with pytest.raises(InvalidTask) as refusal:
        payload.loads(body)
    return refusal.value.errors


def fingerprint(value: object) -> str:
    return payload.fingerprint(payload.in_order(value, payload.encode(value)))


def nested(levels: int) -> Any:
    value: list[Any] = []
    for _ in range(levels - 1):
        value = [value]
    return value


class TestCheck:
    @given(json_values)
    def test_whatever_passes_survives_the_journey(self, value: Any) -> None:
        assert payload.loads(payload.dumps({"payload": value}).encode()) == {"payload": value}

    @given(
        st.recursive(odd_values, lambda inner: st.lists(inner) | st.dictionaries(odd_names, inner))
    )
    def test_a_glance_never_passes_what_a_close_look_refuses(self, value: Any) -> None:
        if payload._is_plain(value, 3):
            payload._walk(value, "payload", 3)

    @given(json_values)
    def test_a_glance_is_enough_for_what_is_right(self, value: Any) -> None:
        assert payload._is_plain(value, payload.MAX_DEPTH)

    def test_tuples_bytes_and_other_collections_become_what_json_has(self) -> None:
        value = {"pair": (1, 2), "text": "é".encode(), "more": UserDict(a=UserList([1]))}
        assert json.loads(payload.dumps(value)) == {
            "pair": [1, 2],
            "text": "é",
            "more": {"a": [1]},
        }

    def test_the_place_of_a_fault_is_named(self) -> None:
        value = {"items": [{}, {}, {}, {"name": "a\0b"}]}
        assert list(fault_of(value)) == ["payload.items[3].name"]

    @pytest.mark.parametrize("text", ["\0", "a\ud800", "\udfff", "é\0"])
    def test_text_no_database_stores_is_refused_in_values_and_names(self, text: str) -> None:
        assert list(fault_of({"a": text})) == ["payload.a"]
        assert "has a name that contains" in fault_of({"a": {text: 1}})["payload.a"]

    @pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
    def test_numbers_json_does_not_have_are_refused(self, number: float) -> None:
        assert "JSON has no such number" in fault_of([number])["payload[0]"]

    def test_integers_stop_at_64_bits(self) -> None:
        payload.check([payload.INTEGER_MIN, payload.INTEGER_MAX, True])
        assert fault_of(payload.INTEGER_MAX + 1) == {"payload": "is an integer beyond 64 bits"}
        assert fault_of(payload.INTEGER_MIN - 1) == {"payload": "is an integer beyond 64 bits"}

    def test_names_must_be_strings(self) -> None:
        assert fault_of({"a": {1: 2}}) == {
            "payload.a": "has a name that is of type int, not a string"
        }

    @pytest.mark.parametrize("value", [object(), {1}, b"\xff"])
    def test_what_json_cannot_hold_is_refused(self, value: object) -> None:
        assert list(fault_of({"a": value})) == ["payload.a"]

    def test_64_levels_pass_and_65_do_not(self) -> None:
        payload.check(nested(64))
        assert fault_of(nested(65)) == {"payload": "is nested deeper than 64 levels"}

    @pytest.mark.parametrize("levels", LEVELS_OF_THE_FIELD)
    def test_deep_nesting_is_refused_without_recursion(self, levels: int) -> None:
        assert fault_of(nested(levels)) == {"payload": "is nested deeper than 64 levels"}

    def test_a_list_that_contains_itself_is_refused(self) -> None:
        value: list[Any] = []
        value.append(value)
        assert fault_of(value) == {"payload": "is nested deeper than 64 levels"}


class TestLoads:
    def test_pairs_of_surrogates_are_one_character(self) -> None:
        assert payload.loads(rb'"\ud83d\ude00"') == "😀"

    @pytest.mark.parametrize(
        ("body", "field", "words"),
        [
            (b"", "body", "is not JSON"),
            (b"{", "body", "is not JSON"),
            (b'"\xff"', "body", "is not JSON"),
            (b'"\x00"', "body", "is not JSON"),
            (b"[NaN]", "body", "JSON has no such number"),
            (b"[-Infinity]", "body", "JSON has no such number"),
            (b'{"payload":{"n":1e400}}', "payload.n", "JSON has no such number"),
            (b'{"payload":{"n":18446744073709551616}}', "payload.n", "beyond 64 bits"),
            (b"9" * 5_000, "body", "beyond 64 bits"),
            (rb'{"payload":{"a":"\u0000"}}', "payload.a", "NUL"),
            (rb'{"payload":{"a":"\ud800"}}', "payload.a", "half a surrogate pair"),
            (rb'{"payload":{"\ud800":1}}', "payload", "has a name that contains"),
            (b'{"a":1,"b":2,"a":3}', "body", "has 'a' twice in one object"),
            (b'{"payload":{"a":1,"a":1}}', "body", "has 'a' twice in one object"),
        ],
    )
    def test_what_is_wrong_is_said_where_it_is(self, body: bytes, field: str, words: str) -> None:
        errors = fault_in(body)
        assert list(errors) == [field]
        assert words in errors[field]

    @pytest.mark.parametrize("levels", LEVELS_OF_THE_FIELD)
    @pytest.mark.parametrize("closed", [True, False])
    def test_deep_nesting_is_refused_before_anything_recurses(
        self, levels: int, closed: bool
    ) -> None:
        body = b"[" * levels + b"]" * levels * closed
        assert fault_in(body) == {"body": "is nested deeper than 67 levels"}

    def test_a_payload_of_64_levels_fits_into_a_request_for_many(self) -> None:
        body = b'{"tasks":[{"payload":' + b"[" * 64 + b"]" * 64 + b"}]}"
        assert payload.loads(body) == {"tasks": [{"payload": nested(64)}]}

    @pytest.mark.parametrize("text", ["[" * 1_000, "\\" + '"[' * 1_000, "\\\\"])
    def test_brackets_in_text_are_not_nesting(self, text: str) -> None:
        assert payload.loads(json.dumps([text, "[" * 70]).encode()) == [text, "[" * 70]

    def test_many_lists_beside_each_other_are_not_nesting(self) -> None:
        assert payload.loads(b"[" + b",".join([b"[]"] * 1_000) + b"]") == [[]] * 1_000

    def test_a_name_given_twice_among_very_many_is_found(self) -> None:
        names = [f'"{number}":0' for number in range(50_000)]
        assert "twice" in fault_in(f"{{{','.join([*names, names[-1]])}}}".encode())["body"]


class TestFingerprint:
    def test_the_order_of_names_does_not_matter(self) -> None:
        assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})

    @pytest.mark.parametrize("other", [{"a": 2}, {"a": "1"}, {"a": True}, {"a": [1]}, {}])
    def test_every_other_value_has_another_one(self, other: object) -> None:
        assert fingerprint({"a": 1}) != fingerprint(other)


class TestCleanText:
    def test_what_databases_refuse_is_escaped(self) -> None:
        assert payload.clean_text("a\0b\ud800", 100) == r"a\u0000b\ud800"

    def test_text_within_the_limit_stays(self) -> None:
        assert payload.clean_text("x" * 100, 100) == "x" * 100

    def test_long_text_keeps_its_ends_and_says_what_is_missing(self) -> None:
        text = payload.clean_text("begin" + "x" * 50_000_000 + "end", 1_000)
        assert len(text) == 1_000
        assert text.startswith("begin")
        assert text.endswith("end")
        assert "49,999,008 characters left out" in text

    @given(st.text(), st.integers(0, 50))
    def test_no_text_is_longer_than_its_limit_or_unstorable(self, text: str, limit: int) -> None:
        clean = payload.clean_text(text, limit)
        assert len(clean) <= 6 * limit  # escaped, a character is six
        payload.check(clean)
