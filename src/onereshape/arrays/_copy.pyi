from typing import Any

class Plan:
    def __init__(
        self,
        kind: str,
        item: int,
        dims: tuple[int, ...],
        source: tuple[int, ...],
        destination: tuple[int, ...],
        source_axis: int,
        tile: tuple[int, int],
        /,
    ) -> None: ...
    @property
    def nbytes(self) -> int: ...
    def parts(self, threads: int, bytes_per_thread: int, /) -> list[tuple[int, int, int, int, bool]]: ...

def copy_array(plan: Plan, destination: Any, source: Any, threads: int, bytes_per_thread: int, /) -> None: ...
def copy_address(plan: Plan, destination: int, source: int, threads: int, bytes_per_thread: int, /) -> None: ...
def beyond_line(array: Any, /) -> int: ...
