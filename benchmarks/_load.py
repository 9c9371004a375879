"""Load generator: clients that send one word after another, all in one thread to use little CPU.

    python -m benchmarks._load URL MODEL CLIENTS SECONDS QUESTIONS

prints JSON: answers per second, p50 and p99 in ms, and the total number of answers. QUESTIONS is a file of encoded
requests, one per line in base64, so this does not need TensorFlow.
"""

import asyncio
import base64
import json
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import urlsplit

import grpc
import numpy as np

METHOD = "/tensorflow.serving.PredictionService/Predict"
Ask = Callable[[bytes], Awaitable[None]]


def grpc_clients(address: str, _: str) -> Callable[[], Awaitable[Ask]]:
    """Return a factory of clients that share a channel.

    An answer counts once its bytes have arrived. The request contains the name of the model.
    """
    call = grpc.aio.insecure_channel(address).unary_unary(METHOD)

    async def client() -> Ask:
        async def ask(question: bytes) -> None:
            await call(question)

        return ask

    return client


def rest_clients(address: str, model: str) -> Callable[[], Awaitable[Ask]]:
    """Return a factory of clients with one persistent connection each."""
    host, port = address.split(":")

    async def client() -> Ask:
        reader, writer = await asyncio.open_connection(host, int(port))

        async def ask(question: bytes) -> None:
            path, length = f"/v1/models/{model}:predict", len(question)
            head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n\r\n"
            writer.write(head.encode() + question)
            headers = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = int(headers.split("content-length:")[1].split("\r\n")[0])
            answer = await reader.readexactly(length)
            if not headers.startswith("http/1.1 200"):
                raise RuntimeError(answer.decode())

        return ask

    return client


async def measure(
    make: Callable[[], Awaitable[Ask]], clients: int, seconds: float, asked: list[bytes]
) -> dict[str, float]:
    """Run all clients for this many seconds, after a warm-up of a tenth of that, and return rate and latencies."""
    times, answers = [], 0
    begin = time.perf_counter() + seconds / 10
    end = begin + seconds

    async def run(number: int) -> None:
        nonlocal answers
        ask, place = await make(), number
        while (start := time.perf_counter()) < end:
            await ask(asked[place % len(asked)])
            answers += 1
            if start >= begin:
                times.append(time.perf_counter() - start)
            place += clients

    await asyncio.gather(*(run(number) for number in range(clients)))
    p50, p99 = np.percentile(times, [50, 99]) * 1e3
    return {"rate": len(times) / seconds, "p50": p50, "p99": p99, "answers": answers}


async def main(url: str, model: str, clients: int, seconds: float, questions: Path) -> None:
    """Measure one kind of client and print the result."""
    parts = urlsplit(url)
    make = (grpc_clients if parts.scheme == "grpc" else rest_clients)(parts.netloc, model)
    asked = [base64.b64decode(line) for line in questions.read_text().split()]
    print(json.dumps(await measure(make, clients, seconds, asked)), flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), Path(sys.argv[5])))
