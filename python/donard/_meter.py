# SPDX-License-Identifier: Apache-2.0
"""How many bytes went through DRAM, and how many around it."""
from __future__ import annotations

import dataclasses
import errno
from typing import TYPE_CHECKING, Any, Iterable

from ._errors import wrong_thread
from ._library import Record, ffi, lib, meter_lib, name, sized, text

if TYPE_CHECKING:
    from ._context import Context
    from ._memory import Memory


@dataclasses.dataclass(frozen=True)
class Measurement(Record):
    """What was counted; struct donard_measurement of meter.h explains each field.

    counts: of each quantity that is known, by its name with its unit; the others are missing, and that says why
    """
    meter: str
    exact: bool
    seconds: float
    missing: str
    counts: dict[str, int]

    @classmethod
    def of(cls, pointer: Any) -> Measurement:
        known = (index for index in range(lib.DONARD_QUANTITIES) if pointer.known >> index & 1)
        counts = {text(meter_lib.donard_quantity_name(index)): int(pointer.count[index]) for index in known}
        return cls._of(pointer, counts=counts)


class Meter:
    """A meter of the library; close() ends it."""

    def __init__(self, context: Context, kind: str | None) -> None:
        self._root = context._root
        self.handle = context._make("donard_meter", meter_lib.donard_meter_close, meter_lib.donard_meter_open, name("kind", kind, optional=True))

    def close(self) -> None:
        self._root.release(self.handle, meter_lib.donard_meter_close)


class Metering:
    """Meters one call of the library, by its options; result has the Measurement after that."""

    def __init__(self, context: Context, kind: str) -> None:
        self._meter = Meter(context, kind)
        self._measured = sized("donard_measurement")
        self._metering = sized("donard_metering", meter=self._meter.handle, measurement=self._measured)

    def attach(self, options: Any) -> None:
        options.begin_fn = ffi.addressof(meter_lib, "donard_meter_interval_begin")
        options.end_fn = ffi.addressof(meter_lib, "donard_meter_interval_end")
        options.interval_user = self._metering

    @property
    def result(self) -> Measurement | None:
        """None if the call never came to what it would have metered."""
        return Measurement.of(self._measured) if self._measured.meter != ffi.NULL else None

    def close(self) -> None:
        self._meter.close()


class Measuring:
    """A with statement that is measured: result has the Measurement when it has ended."""

    def __init__(self, context: Context, kind: str | None, payload: Iterable[Memory]) -> None:
        self._context = context
        self._kind = kind
        self._payload = tuple(payload)
        self.result: Measurement | None = None

    def _own(self, memory: Memory) -> None:
        address = ffi.cast("void *", memory.info.address)
        self._context._check(meter_lib.donard_meter_own(self._meter.handle, address, len(memory)))

    def __enter__(self) -> Measuring:
        self._meter = Meter(self._context, self._kind)
        try:
            for memory in self._payload:
                self._own(memory)
            self._context._check(meter_lib.donard_meter_begin(self._meter.handle))
        except BaseException:
            self._meter.close()
            raise
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        measured = sized("donard_measurement")
        try:
            rc = meter_lib.donard_meter_end(self._meter.handle, measured)
            if rc == -errno.EPERM and error is None:
                raise wrong_thread("this meter", "process")
            if error is None:
                self._context._check(rc)
            self.result = Measurement.of(measured)
        finally:
            self._meter.close()


class _MeasuringAlone(Measuring):
    """With a context of its own."""

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        with self._context:
            super().__exit__(kind, error, trace)


def measure(kind: str | None = None, *, payload: Iterable[Memory] = ()) -> Measuring:
    """Count what goes through DRAM within a with statement.

    kind: "lab", "likwid", "perf", "resctrl", "none"; the first of these that is available unless one is named
    payload: memory that carries payload although no DMA touches it

        with donard.measure() as measuring:
            ...
        print(measuring.result.counts)
    """
    from ._context import Context
    return _MeasuringAlone(Context(), kind, payload)
