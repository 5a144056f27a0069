"""Fills and drains the queue of PgQueuer. The commands are those of protocol.js."""

import asyncio
import json
import os
import sys

import asyncpg
import uvloop
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgPoolDriver
from pgqueuer.models import Job
from pgqueuer.queries import Queries

CHUNK = 10_000
BATCH = 2000
PAYLOAD = os.environ["PAYLOAD"].encode()


async def fill(pool: asyncpg.Pool, rows: int) -> None:
    queries = Queries(AsyncpgPoolDriver(pool))
    await queries.install()
    for start in range(0, rows, CHUNK):
        jobs = min(CHUNK, rows - start)
        await queries.enqueue(["no_op"] * jobs, [PAYLOAD] * jobs, [0] * jobs)


async def drain(pool: asyncpg.Pool) -> None:
    queue = PgQueuer(AsyncpgPoolDriver(pool))
    seen = 0

    @queue.entrypoint("no_op")
    async def no_op(job: Job) -> None:
        nonlocal seen
        seen += 1

    async def report() -> None:
        printed = 0
        while True:
            await asyncio.sleep(0.01)
            if seen != printed:
                printed = seen
                print(seen, flush=True)

    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    reporter = asyncio.create_task(report())
    await queue.run(batch_size=BATCH)
    await reporter


async def main() -> None:
    async with asyncpg.create_pool(os.environ["DATABASE_URL"], min_size=2, max_size=8) as pool:
        if sys.argv[1] == "fill":
            await fill(pool, int(sys.argv[2]))
        else:
            await drain(pool)


uvloop.run(main())
