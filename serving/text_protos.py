"""Configuration files of TF Serving, which are messages in text form."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

from google.protobuf import text_format
from google.protobuf.message import Message

AnyMessage = TypeVar("AnyMessage", bound=Message)


def read(path: Path, message: AnyMessage, flag: str) -> AnyMessage:
    """Read a message from a file in text form.

    Args:
        path: The file to read.
        message: An empty message to read into.
        flag: The flag with the name of the file, for error messages.

    Raises:
        ValueError: If the file is missing or contains no such message.
    """
    pool: Any = message.DESCRIPTOR.file.pool  # which resolves the types of nested `Any` messages
    try:
        return text_format.Parse(path.read_text(encoding="utf-8"), message, descriptor_pool=pool)
    except OSError as error:
        name = message.DESCRIPTOR.name
        raise ValueError(f"{flag}: expected a file with {name} in text format. Received: {path} ({error})") from error
    except (UnicodeDecodeError, text_format.ParseError) as error:  # worded as in TF Serving
        name = message.DESCRIPTOR.full_name
        raise ValueError(f"{flag}: Error parsing text-format {name}: {error}. Received: {path}") from error
