#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""nbd.py SOCKET write|trim OFFSET LENGTH [fua] - one request of an NBD client, and nothing else (cachedisk.sh).

The kernel's client sends a flush of its own behind a write with FUA, so that a server which makes nothing of FUA looks right.
"""
import socket
import struct
import sys

GREETING = struct.Struct(">8s8sH")
EXPORT = struct.Struct(">QH")
REQUEST = struct.Struct(">IHHQQI")
REPLY = struct.Struct(">IIQ")
OPTION = b"IHAVEOPT"
EXPORT_NAME = 1
FIXED_NEWSTYLE, NO_ZEROES = 1, 2
WRITE, DISCONNECT, TRIM = 1, 2, 4
FUA = 1


def take(connection, shape):
    data = connection.recv(shape.size, socket.MSG_WAITALL)
    if len(data) < shape.size:
        sys.exit(f"the server ended the connection: {data!r}")
    return shape.unpack(data)


def ask(connection, command, offset, length, flags, data):
    connection.sendall(REQUEST.pack(0x25609513, flags, command, 1, offset, length) + data)


def main(path, word, offset, length, flags):
    command = {"write": WRITE, "trim": TRIM}[word]
    data = b"\xa5" * length if command == WRITE else b""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        magic, option, _ = take(connection, GREETING)
        if (magic, option) != (b"NBDMAGIC", OPTION):
            sys.exit(f"no NBD server: {magic!r} {option!r}")
        connection.sendall(struct.pack(">I8sII", FIXED_NEWSTYLE | NO_ZEROES, OPTION, EXPORT_NAME, 0))
        take(connection, EXPORT)
        ask(connection, command, offset, length, flags, data)
        _, error, _ = take(connection, REPLY)
        ask(connection, DISCONNECT, 0, 0, 0, b"")
    if error:
        sys.exit(f"{word}: error {error}")


main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), FUA if sys.argv[5:] == ["fua"] else 0)
