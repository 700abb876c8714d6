"""Events to plain data, with a fault for everything in a file that is YAML but no manifest.

Second step of reading. One pass, no recursion; nothing about positions is kept but on faults.
What is at fault is replaced by what was likely meant, so that the rest is still looked into and
one typo stays one finding.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from sys import intern
from typing import Any, Final

from toolrt.core.faults import Fault, FaultError, Path
from toolrt.core.names import did_you_mean
from toolrt.loading import events as yaml
from toolrt.loading import scalars
from toolrt.loading.anchors import ALIAS_LIMIT, Anchors
from toolrt.loading.characters import hidden_in_name
from toolrt.loading.diagnostics import FAULT_LIMIT, Diagnosis, TooManyFaultsError
from toolrt.loading.frames import LOST, MERGE, Frame, merged, path_to
from toolrt.loading.paths import short
from toolrt.loading.syntax import explain, quote_hint, value_at

DEPTH_LIMIT: Final = 64

_SHOWN_STEPS: Final = 4
_NEARBY: Final = 50
_NAME_KEYS: Final = frozenset({"id", "namespace"})


class _StoppedError(Exception):
    """The rest of the file is not looked at."""


class Assembly:
    """Builds the data of one document; faults go to `diagnosis`.

    `repeats` are the values that a duplicate key hid, each with its path; `taken` counts the
    events that were looked at.
    """

    def __init__(self, diagnosis: Diagnosis, *, allow_merge: bool) -> None:
        self.repeats: list[tuple[Path, Any]] = []
        self.taken = 0
        self._repeated = 0
        self._diagnosis = diagnosis
        self._text = diagnosis.lines.text
        self._allow_merge = allow_merge
        self._anchors = Anchors()
        self._root: list[Any] = []
        self._top = Frame(self._root, 0, is_flow=False)
        self._stack = [self._top]
        self._is_whole = False

    def build(self, events: Iterator[Any]) -> Any:
        """The data; None when it is unusable, `{}` when the file says nothing."""
        try:
            self._follow(events)
        except (_StoppedError, TooManyFaultsError):
            return self._root[0] if self._root else None
        except yaml.ParseError as error:
            self._explain(error)
            return None
        return self._root[0]

    def _follow(self, events: Iterator[Any]) -> None:
        steps: dict[type, Callable[[Any], None]] = {
            yaml.ScalarEvent: self._scalar,
            yaml.MappingStartEvent: self._open,
            yaml.SequenceStartEvent: self._open,
            yaml.MappingEndEvent: self._close,
            yaml.SequenceEndEvent: self._close,
            yaml.AliasEvent: self._alias,
            yaml.DocumentStartEvent: self._begin,
            yaml.StreamEndEvent: self._end,
        }
        for self.taken, event in enumerate(events, 1):
            step = steps.get(type(event))
            if step is not None:
                step(event)
        if not self._is_whole:
            raise self._stop("too-large", "too many values for one file", 0, 0, "split it")

    def _explain(self, error: yaml.ParseError) -> None:
        """The syntax error, and nothing else: what the parser saw before may follow from it."""
        explained = explain(error, self._diagnosis.lines)
        self._diagnosis.found.clear()
        self.repeats.clear()
        self._diagnosis.add(explained.fault, explained.start, explained.end)

    # what each kind of event does

    def _begin(self, event: Any) -> None:
        if self._root:
            message = "a second document in one file"
            start = event.start_mark.index
            raise self._stop("several-documents", message, start, start + 3, "one file for each")

    def _end(self, _event: Any) -> None:
        self._is_whole = True
        if not self._root or self._root[0] is None:
            self._root[:] = [{}]

    def _scalar(self, event: Any) -> None:
        top = self._top
        made = top.made
        if top.key is None and type(made) is dict:
            top.key = self._key(top, event)
            return
        value = event.value
        if event.tag is not None or event.anchor is not None or top.key in _NAME_KEYS:
            value = self._odd_scalar(event)
        elif event.implicit[0]:
            value = self._plain(event)
        if type(made) is list:
            made.append(value)
        else:
            made[top.key] = value  # type: ignore[call-overload]  # a mapping's key
            top.key = None

    def _open(self, event: Any) -> None:
        top = self._top
        if top.key is None and type(top.made) is dict:
            self._refuse_key(event)
        is_map = type(event) is yaml.MappingStartEvent
        if event.tag is not None and event.tag != (scalars.MAP_TAG if is_map else scalars.SEQ_TAG):
            self._refuse_tag(event)
        frame = Frame({} if is_map else [], event.start_mark.index, is_flow=event.flow_style)
        if event.anchor is not None:
            frame.anchor = event.anchor
            frame.is_odd = True
            self._anchors.begin(event.anchor)
        self._stack.append(frame)
        self._top = frame
        if len(self._stack) > DEPTH_LIMIT + 1:
            raise self._too_deep(frame)

    def _close(self, event: Any) -> None:
        frame = self._stack.pop()
        self._top = self._stack[-1]
        self._put(self._finished(frame, event.end_mark.index) if frame.is_odd else frame.made)

    def _alias(self, event: Any) -> None:
        top = self._top
        if top.key is None and type(top.made) is dict:
            self._refuse_key(event)
        if event.anchor in self._anchors.names:
            self._put(self._shared(event))
        else:
            self._put(self._unknown_anchor(event))

    def _put(self, value: Any) -> None:
        top = self._top
        if type(top.made) is list:
            top.made.append(value)
        elif top.key is None:
            top.key = LOST
        else:
            top.made[top.key] = value  # type: ignore[call-overload]  # a mapping's key
            top.key = None

    # keys

    def _key(self, frame: Frame, event: Any) -> str:
        key: str = event.value
        if (
            key in frame.made
            or not key.isprintable()
            or not key
            or key == MERGE
            or event.tag is not None
            or event.anchor is not None
        ):
            return self._odd_key(frame, event)
        return intern(key)

    def _odd_key(self, frame: Frame, event: Any) -> str:
        key: str = event.value
        self._refuse_hidden(key, event)
        if not key and event.implicit[0]:
            self._fault("bad-key", "a key is missing before this `:`", event)
        if event.tag is not None and event.tag not in scalars.SCALAR_TAGS:
            self._refuse_tag(event)
        if event.anchor is not None:
            self._anchors.finish(event.anchor, key, len(key))
        if key == MERGE and event.implicit[0]:
            self._merge_key(frame, event)
        if key not in frame.made:
            return key
        self._repeated += 1
        if self._repeated > FAULT_LIMIT:
            message = f"more than {FAULT_LIMIT} keys are written twice"
            start, end = event.start_mark.index, event.end_mark.index
            raise self._stop("too-many-faults", message, start, end)
        return frame.repeat(key)

    def _merge_key(self, frame: Frame, event: Any) -> None:
        frame.merge_start = event.start_mark.index
        frame.is_odd = True
        if not self._allow_merge:
            hint = "write the keys out: a rule is read where it stands"
            self._fault("merge-key", "`<<` is not allowed in policies", event, hint)

    def _refuse_key(self, event: Any) -> None:
        """A collection or an alias in place of a key; `{{ x }}` is the usual way to get there."""
        start = event.start_mark.index
        top = self._top
        top.is_odd = True
        if top.is_flow and start == top.start + 1 and self._text.startswith("{{", top.start):
            top.is_template = True
        elif not self._text.startswith("{{", start):
            self._fault("bad-key", "a key is a plain text", event, "write the key out")

    def _refuse_hidden(self, name: str, event: Any) -> None:
        hidden = hidden_in_name(name)
        if hidden is not None:
            self._report(hidden, event)

    # values

    def _plain(self, event: Any) -> Any:
        try:
            return scalars.plain(event.value)
        except FaultError as error:
            return self._number(error, event)

    def _odd_scalar(self, event: Any) -> Any:
        value = self._tagged(event) if event.tag is not None else event.value
        if event.tag is None and event.implicit[0]:
            value = self._plain(event)
        if self._top.key in _NAME_KEYS and isinstance(value, str):
            self._refuse_hidden(value, event)
        if event.anchor is not None:
            size = event.end_mark.index - event.start_mark.index
            self._anchors.finish(event.anchor, value, size)
        return value

    def _tagged(self, event: Any) -> Any:
        if event.tag not in scalars.SCALAR_TAGS:
            self._refuse_tag(event)
            return event.value or event.tag
        try:
            return scalars.tagged(event.tag, event.value)
        except FaultError as error:
            return self._number(error, event)

    def _number(self, error: FaultError, event: Any) -> float:
        """Report a scalar that is no value; a number stands in for it."""
        for fault in error.faults:
            self._report(fault, event)
        return 1.0

    def _refuse_tag(self, event: Any) -> None:
        tag = scalars.written(event.tag)
        start = event.start_mark.index
        hint = "delete the tag: values are plain data"
        if not tag.startswith("!!") and type(event) is yaml.ScalarEvent:
            hint = quote_hint(value_at(self._text, start, in_flow=self._top.is_flow))
        length = len(value_at(self._text, start, in_flow=True).partition(" ")[0])
        fault = Fault(
            "unknown-tag", f"the tag `{short(tag)}` means nothing here", self._path(), hint
        )
        self._diagnosis.add(fault, start, start + length)

    def _shared(self, event: Any) -> Any:
        anchored = self._anchors.find(event.anchor)
        if anchored is None:
            name = short(event.anchor)
            message = f"`*{name}` stands inside `&{name}` itself"
            self._fault("alias-to-itself", message, event)
            return {}
        self._top.extra += anchored.size
        self._top.is_odd = True
        if self._anchors.is_bomb(anchored):
            message = f"aliases make this file more than {ALIAS_LIMIT >> 20} MiB larger"
            start, end = event.start_mark.index, event.end_mark.index
            raise self._stop("alias-bomb", message, start, end, "use fewer aliases")
        return anchored.value

    def _unknown_anchor(self, event: Any) -> Any:
        name = event.anchor
        value = value_at(self._text, event.start_mark.index, in_flow=self._top.is_flow)
        is_merge = self._top.key == MERGE
        hint = f"write `&{short(name)}` before a mapping above" if is_merge else quote_hint(value)
        known = islice(self._anchors.names, _NEARBY)
        hint = did_you_mean(short(name), known) or hint
        self._fault("unknown-anchor", f"there is no `&{short(name)}` above", event, hint)
        return {} if is_merge else value

    # collections that are more than their items

    def _finished(self, frame: Frame, end: int) -> Any:
        if frame.is_template:
            return self._template(frame, end)
        made = frame.made
        if isinstance(made, dict):
            made = self._mapping(frame, made)
        self._top.extra += frame.extra
        self._top.is_odd = self._top.is_odd or frame.extra > 0
        if frame.anchor is not None:
            self._anchors.finish(frame.anchor, made, end - frame.start + frame.extra)
        return made

    def _template(self, frame: Frame, end: int) -> str:
        """`{{ x }}` without quotes: taken as the text that was meant."""
        text = self._text[frame.start : end]
        message = "a text that begins with `{{` needs quotes"
        fault = Fault("unquoted-template", message, self._path(), quote_hint(text))
        self._diagnosis.add(fault, frame.start, end)
        return text

    def _mapping(self, frame: Frame, made: dict[Any, Any]) -> dict[Any, Any]:
        made.pop(LOST, None)
        path = self._path()
        self.repeats += [((*path, repeat), value) for repeat, value in frame.take_repeats()]
        if frame.merge_start is None:
            return made
        below = made.pop(MERGE)
        below = below if isinstance(below, list) else [below]
        if not all(isinstance(one, dict) for one in below):
            message = "`<<` takes a mapping or a list of mappings"
            fault = Fault("bad-merge", message, path, "write it as `<<: *anchor`")
            self._diagnosis.add(fault, frame.merge_start, frame.merge_start + len(MERGE))
        return merged(below, made)

    # faults

    def _fault(self, code: str, message: str, event: Any, hint: str | None = None) -> None:
        self._report(Fault(code, message, hint=hint), event)

    def _report(self, fault: Fault, event: Any) -> None:
        start, end = event.start_mark.index, event.end_mark.index
        self._diagnosis.add(fault.moved(self._path()), start, end)

    def _stop(
        self, code: str, message: str, start: int, end: int, hint: str | None = None
    ) -> _StoppedError:
        self._diagnosis.add(Fault(code, message, self._path(), hint), start, end)
        return _StoppedError()

    def _too_deep(self, frame: Frame) -> _StoppedError:
        message = f"more than {DEPTH_LIMIT} collections inside each other"
        fault = Fault("too-deep", message, self._path()[:_SHOWN_STEPS])
        self._diagnosis.add(fault, frame.start, frame.start + 1)
        return _StoppedError()

    def _path(self) -> Path:
        return path_to(self._stack[1:])
