#!/usr/bin/env python3
"""Checks a Master's decisions from outside: each core is a register, which one executor or cluster driver has at a time.

    firesteel journal dump STATE | python3 tests/tools/grants.py

reads the history of a journal, and knows nothing of the program but these lines. It prints what it has counted, and fails
at the first decision that gives a core twice, gives a number twice, or uses a Worker that is gone.
"""

import re
import sys

RULES = [
    ("worker", r"Worker (\d+)(?:, now lost:| registered:) .* with (\d+) cores? and .*"),
    ("gone", r"Worker (\d+) (?:left in order|lost): .*"),
    ("launch", r"application (\d+): executor (\d+) launched on Worker (\d+) with (\d+) cores? and .*"),
    ("end", r"application (\d+): executor (\d+) ended: .*"),
    ("over", r"application (\d+) ended: .*"),
    ("submit", r"cluster driver (\d+) submitted: .* with (\d+) cores? and .*"),
    ("drive", r"cluster driver (\d+): launched on Worker (\d+).*"),
    ("undrive", r"cluster driver (\d+)(?: ended: .*|: waits again)"),
]
RULES = [(name, re.compile(pattern + r"$")) for name, pattern in RULES]


class Wrong(Exception):
    pass


class Registers:
    """The cores of all Workers, each with its owner, and what has been given."""

    def __init__(self):
        self.cores = {}  # Worker: the owner of each core, or None
        self.capacity = {}  # Worker: how many cores it has
        self.left = set()
        self.owned = {}  # owner: (Worker, its cores)
        self.last = {}  # application: its highest number of an executor
        self.drivers = {}  # cluster driver: how many cores it needs
        self.grants = 0
        # An image has its executors in another order than they ran.
        self.is_image = False

    def worker(self, worker, cores):
        registers = self.cores.setdefault(worker, [])
        if any(registers[cores:]):
            raise Wrong(f"Worker {worker} has {cores} cores, and gave more")
        self.capacity[worker] = cores
        self.cores[worker] = (registers + [None] * cores)[:cores]

    def gone(self, worker):
        for core in self.cores.get(worker, []):
            if core is not None:
                raise Wrong(f"Worker {worker} is gone, and {core} has a core of it")
        self.left.add(worker)

    def take(self, owner, worker, count):
        if worker in self.left or worker not in self.cores:
            raise Wrong(f"{owner} is given cores of Worker {worker}, which is not there")
        registers = self.cores[worker]
        free = [at for at, core in enumerate(registers) if core is None]
        if len(free) < count and not self.is_image:
            held = sorted({core for core in registers if core is not None})
            raise Wrong(f"{owner} is given {count} cores of Worker {worker}, where {len(free)} are free: {', '.join(held)}")
        while len(free) < count:
            free.append(len(registers))
            registers.append(None)
        mine = free[:count]
        for at in mine:
            registers[at] = owner
        self.owned[owner] = (worker, mine)
        self.grants += 1

    def give_back(self, owner):
        if owner not in self.owned:
            raise Wrong(f"{owner} ends, and has nothing")
        worker, cores = self.owned.pop(owner)
        for at in cores:
            self.cores[worker][at] = None

    def launch(self, app, executor, worker, cores):
        if executor <= self.last.get(app, -1):
            raise Wrong(f"the number of executor {app}/{executor} is given again")
        self.last[app] = executor
        self.take(f"executor {app}/{executor}", worker, cores)

    def end(self, app, executor):
        self.give_back(f"executor {app}/{executor}")

    def over(self, app):
        left = [owner for owner in self.owned if owner.startswith(f"executor {app}/")]
        if left:
            raise Wrong(f"application {app} is over, and {left[0]} has cores")

    def submit(self, driver, cores):
        self.drivers[driver] = cores

    def drive(self, driver, worker):
        self.take(f"driver {driver}", worker, self.drivers[driver])

    def undrive(self, driver):
        if f"driver {driver}" in self.owned:
            self.give_back(f"driver {driver}")

    def image_ends(self):
        self.is_image = False
        for worker, registers in self.cores.items():
            held = [core for core in registers if core is not None]
            if len(held) > self.capacity[worker]:
                raise Wrong(f"in the image, Worker {worker} has given {len(held)} of {self.capacity[worker]} cores")
            moved = {}
            self.cores[worker] = held + [None] * (self.capacity[worker] - len(held))
            for at, core in enumerate(held):
                moved.setdefault(core, []).append(at)
            for owner, cores in moved.items():
                self.owned[owner] = (worker, cores)


def check(lines):
    registers = Registers()
    for number, line in enumerate(lines, 1):
        line = line.strip()
        if line == "image":
            registers.is_image = True
        elif line.startswith("batch ") and registers.is_image:
            registers.image_ends()
        for name, rule in RULES:
            found = rule.match(line)
            if not found:
                continue
            try:
                getattr(registers, name)(*map(int, found.groups()))
            except Wrong as wrong:
                raise Wrong(f"line {number}: {wrong}\n    {line}") from None
            break
    if registers.is_image:
        registers.image_ends()
    return registers


def main():
    try:
        registers = check(sys.stdin)
    except Wrong as wrong:
        print(wrong)
        return 1
    held = sum(len(cores) for _, cores in registers.owned.values())
    print(
        f"{registers.grants} grants on {len(registers.cores)} Workers, {len(registers.left)} of which are gone;"
        f" {held} cores are held: no core and no number was given twice"
    )
    return 0 if registers.grants else 2


if __name__ == "__main__":
    sys.exit(main())
