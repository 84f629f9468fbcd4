"""A Zarr store in a folder, as Zarr sees it: every file through `beneath`, so that no link leads out of it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterable
from typing import Any

from zarr.abc.store import ByteRequest, OffsetByteRequest, RangeByteRequest, Store, SuffixByteRequest
from zarr.core.buffer import Buffer, BufferPrototype, default_buffer_prototype

from onereshape.formats.stores import beneath


class FolderStore(Store):
    """Reads no more of a file than `whole` bytes, and of a range in it than `part`; writes in folders of `owners`."""

    def __init__(self, root: str, whole: int, part: int, owners: tuple[int, ...] | None = None) -> None:
        super().__init__(read_only=owners is None)
        self.root, self.whole, self.part = root, whole, part
        self.owners = owners or ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FolderStore) and (self.root, self.owners) == (other.root, other.owners)

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        return self.root

    async def get(
        self, key: str, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """The bytes of a file, or of a part of it."""
        prototype = prototype or default_buffer_prototype()
        start, length, most = 0, None, self.part
        match byte_range:
            case None:
                most = self.whole
            case RangeByteRequest():
                start, length = byte_range.start, byte_range.end - byte_range.start
            case OffsetByteRequest():
                start = byte_range.offset
            case SuffixByteRequest():
                start = -byte_range.suffix
        found = await asyncio.to_thread(beneath.read, self.root, key, int(start), length and int(length), most)
        return None if found is None else prototype.buffer.from_bytes(found)

    async def get_partial_values(
        self, prototype: BufferPrototype, key_ranges: Iterable[tuple[str, ByteRequest | None]]
    ) -> list[Buffer | None]:
        """The bytes of several files, or of parts."""
        return [await self.get(key, prototype, byte_range) for key, byte_range in key_ranges]

    async def exists(self, key: str) -> bool:
        """Whether the file `key` exists."""
        return await asyncio.to_thread(os.path.isfile, os.path.join(self.root, key))  # noqa: PTH118

    @property
    def supports_writes(self) -> bool:
        """Whether files are written and removed: a store that is only read has no owners."""
        return not self.read_only

    async def set(self, key: str, value: Buffer) -> None:
        """Writes a file."""
        self._check_writable()
        content: Any = value.as_buffer_like()
        await asyncio.to_thread(beneath.write, self.root, key, content, self.owners)

    @property
    def supports_deletes(self) -> bool:
        """Whether files are written and removed: a store that is only read has no owners."""
        return not self.read_only

    async def delete(self, key: str) -> None:
        """Removes a file."""
        self._check_writable()
        await asyncio.to_thread(beneath.remove, self.root, key, self.owners)

    @property
    def supports_listing(self) -> bool:
        """False: Zarr does not ask."""
        return False

    def list(self) -> AsyncIterator[str]:
        """Refused: keys are not listed, and Zarr does not ask."""
        raise NotImplementedError

    def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        """Refused: keys are not listed, and Zarr does not ask."""
        raise NotImplementedError

    def list_dir(self, prefix: str) -> AsyncIterator[str]:
        """Refused: keys are not listed, and Zarr does not ask."""
        raise NotImplementedError
