"""A parser for the part of the protocol buffer language (proto3) that the files in this folder use."""

from __future__ import annotations

import re

from google.protobuf import descriptor_pb2

_FIELD = descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    name.removeprefix("TYPE_").lower(): number
    for name, number in _FIELD.Type.items()
    if name not in ("TYPE_MESSAGE", "TYPE_ENUM", "TYPE_GROUP")
}
_TOKEN = re.compile(r'//[^\n]*|"[^"]*"|[\w.]+|\S')


def parse_file(name: str, text: str) -> descriptor_pb2.FileDescriptorProto:
    """Return the descriptor of a `.proto` file.

    Args:
        name: The name of the file, by which other files import it.
        text: Its content.

    Raises:
        ValueError: If the file contains anything but messages, enums, services, imports and a package.
    """
    return _Parser(name, text).file


class _Parser:
    def __init__(self, name: str, text: str) -> None:
        self.file = descriptor_pb2.FileDescriptorProto(name=name)
        self._tokens = [token for token in _TOKEN.findall(text) if not token.startswith("//")]
        self._place = 0
        while self._place < len(self._tokens):
            self._definition()

    def _next(self, *expected: str) -> str:
        """Return the next token, which must be one of the expected ones, if any are given."""
        token = self._tokens[self._place] if self._place < len(self._tokens) else "the end of the file"
        if expected and token not in expected:
            raise ValueError(f"{self.file.name}: expected {' or '.join(expected)}. Received: {token}")
        self._place += 1
        return token

    def _ends(self, token: str) -> bool:
        """Consume the next token if it is this one; return whether it was."""
        found = self._place < len(self._tokens) and self._tokens[self._place] == token
        self._place += found
        return found

    def _definition(self) -> None:
        kind = self._next("syntax", "package", "import", "message", "enum", "service")
        if kind == "syntax":
            self._next("=")
            self.file.syntax = self._next('"proto3"').strip('"')
            self._next(";")
        elif kind == "package":
            self.file.package = self._next()
            self._next(";")
        elif kind == "import":
            self.file.dependency.append(self._next().strip('"'))
            self._next(";")
        elif kind == "message":
            self._message(self.file.message_type.add(name=self._next()))
        elif kind == "enum":
            self._enum(self.file.enum_type.add(name=self._next()))
        else:
            self._service(self.file.service.add(name=self._next()))

    def _message(self, message: descriptor_pb2.DescriptorProto) -> None:
        self._next("{")
        while not self._ends("}"):
            if self._ends("message"):
                self._message(message.nested_type.add(name=self._next()))
            elif self._ends("enum"):
                self._enum(message.enum_type.add(name=self._next()))
            elif self._ends("oneof"):
                message.oneof_decl.add(name=self._next())
                self._next("{")
                while not self._ends("}"):
                    self._field(message).oneof_index = len(message.oneof_decl) - 1
            else:
                self._field(message)

    def _field(self, message: descriptor_pb2.DescriptorProto) -> descriptor_pb2.FieldDescriptorProto:
        repeated = self._ends("repeated")
        kind = self._next()
        key, value = (self._next("<") and self._next(), self._next(",") and self._next()) if kind == "map" else ("", "")
        if kind == "map":
            self._next(">")
        name = self._next()
        self._next("=")
        field = message.field.add(name=name, number=int(self._next()), label=_FIELD.LABEL_OPTIONAL)
        self._next(";")
        if repeated or kind == "map":
            field.label = _FIELD.LABEL_REPEATED
        if kind == "map":  # a map is a list of entries, whose message has a name that the language prescribes
            entry = message.nested_type.add(name="".join(map(str.capitalize, name.split("_"))) + "Entry")
            entry.options.map_entry = True
            for number, (part, kind_of_part) in enumerate((("key", key), ("value", value)), 1):
                _set_type(entry.field.add(name=part, number=number, label=_FIELD.LABEL_OPTIONAL), kind_of_part)
            _set_type(field, entry.name)
        else:
            _set_type(field, kind)
        return field

    def _enum(self, enum: descriptor_pb2.EnumDescriptorProto) -> None:
        self._next("{")
        while not self._ends("}"):
            name = self._next()
            self._next("=")
            enum.value.add(name=name, number=int(self._next()))
            self._next(";")

    def _service(self, service: descriptor_pb2.ServiceDescriptorProto) -> None:
        self._next("{")
        while not self._ends("}"):
            self._next("rpc")
            method = service.method.add(name=self._next())
            self._next("(")
            method.input_type = self._next()
            for token in (")", "returns", "("):
                self._next(token)
            method.output_type = self._next()
            for token in (")", ";"):
                self._next(token)


def _set_type(field: descriptor_pb2.FieldDescriptorProto, name: str) -> None:
    """Set the type of a field: a scalar, or the name of a message or enum, which the pool of descriptors resolves."""
    if name in _SCALARS:
        field.type = _SCALARS[name]
    else:
        field.type_name = name
