"""Everything that can happen to a plan, in any order."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from mak.model import Lock, Plan, TaskState
from mak.schedule import Scheduler, compatible, levels, locks_for, with_intentions
from tests.schedule.plans import NODES, nodes, plans, task

RUNNING, PENDING, SETTLED = TaskState.RUNNING, TaskState.PENDING, TaskState.SETTLED
ENDED = (TaskState.DONE, TaskState.FAILED, TaskState.SKIPPED)


def clash(one: tuple[Lock, ...], other: tuple[Lock, ...]) -> bool:
    return any(a.node == b.node and not compatible(a.mode, b.mode) for a in one for b in other)


# I7, I9
class Carried(RuleBasedStateMachine):
    """A plan carried out by a kernel that does whatever it may."""

    @initialize(plan=plans(), capacity=st.integers(1, 5))
    def begin(self, plan: Plan, capacity: int) -> None:
        self.plan = plan
        self.capacity = capacity
        self.s = Scheduler(plan, capacity=capacity)
        self.level = {t: n for n, tasks in enumerate(levels(plan)) for t in tasks}
        self.elsewhere: set[str] = set()
        self.held: set[str] = set()
        self.waves: list[int] = []
        self.failed: dict[str, str] = {}
        self.settled: set[str] = set()

    def having(self, *states: TaskState) -> list[str]:
        return [t.id for t in self.plan.tasks if self.s.states[t.id] in states]

    def stands(self, t: str) -> bool:
        return all(
            self.s.states[d] in (SETTLED, TaskState.DONE) for d in self.plan.task(t).depends_on
        )

    def ready(self) -> list[str]:
        """Pending tasks that wait for nothing but locks, earlier levels and capacity."""
        aside = self.elsewhere | self.held
        return [t for t in self.having(PENDING) if t not in aside and self.stands(t)]

    def above(self, t: str) -> list[str]:
        """Settled and running tasks that depend on `t`, directly or through settled ones."""
        found = []
        for item in self.plan.tasks:
            if t in item.depends_on and self.s.states[item.id] in (RUNNING, SETTLED):
                found.append(item.id)
                if self.s.states[item.id] is SETTLED:
                    found += self.above(item.id)
        return found

    @rule()
    def start(self) -> None:
        before = self.ready()
        granted = self.s.start()
        assert set(granted) == set(before) & set(self.having(RUNNING))
        assert set(self.s.refused) <= set(before) - set(granted)
        assert set(self.s.refused) <= set(self.s.waiting())
        for t in granted:
            assert not any(
                clash(self.s.locks(t), self.s.locks(o))
                for o in self.having(PENDING, RUNNING)
                if self.level[o] < self.level[t]
            )
        if len(self.having(RUNNING)) < self.capacity:
            # whoever is left is held up by something that is going on or goes first
            assert set(self.ready()) == set(self.s.waiting())

    @precondition(lambda self: any(map(self.stands, self.having(RUNNING))))
    @rule(data=st.data())
    def settle(self, data: st.DataObject) -> None:
        standing = [t for t in self.having(RUNNING) if self.stands(t)]
        t = data.draw(st.sampled_from(standing))
        self.s.settle(t)
        self.settled.add(t)

    @precondition(lambda self: self.having(PENDING, RUNNING, SETTLED))
    @rule(data=st.data())
    def fail(self, data: st.DataObject) -> None:
        t = data.draw(st.sampled_from(self.having(PENDING, RUNNING, SETTLED)))
        before = set(self.having(PENDING, RUNNING, SETTLED))
        skipped = self.s.fail(t, "no")
        self.failed[t] = "no"
        self.settled -= {t, *skipped}
        self.elsewhere -= {t, *skipped}
        self.held -= {t, *skipped}
        assert set(skipped) == before - {t} - set(self.having(PENDING, RUNNING, SETTLED))
        assert all(self.s.because[later] == t for later in skipped)

    @precondition(lambda self: self.having(RUNNING, SETTLED))
    @rule(data=st.data(), wider=nodes)
    def requeue(self, data: st.DataObject, wider: tuple) -> None:  # type: ignore[type-arg]
        t = data.draw(st.sampled_from(self.having(RUNNING, SETTLED)))
        locks = (*self.s.locks(t), *locks_for(task("x", " ".join(map(str, wider)))))
        on_top = [o for o in self.above(t) if o in self.settled] if t in self.settled else []
        undone = self.s.requeue(t, locks)
        assert sorted(undone) == sorted(set(on_top))
        self.settled -= {t, *undone}
        assert self.s.locks(t) == with_intentions(locks)

    @precondition(lambda self: self.having(RUNNING))
    @rule(data=st.data(), node=st.sampled_from(NODES))
    def widen(self, data: st.DataObject, node) -> None:  # type: ignore[no-untyped-def]
        t = data.draw(st.sampled_from(self.having(RUNNING)))
        more = locks_for(task("x", str(node)))
        busy = any(clash(more, self.s.locks(o)) for o in self.having(RUNNING) if o != t)
        assert (self.s.widen(t, more) is not None) == busy

    @precondition(lambda self: self.having(RUNNING))
    @rule(data=st.data())
    def external(self, data: st.DataObject) -> None:
        t = data.draw(st.sampled_from(self.having(RUNNING)))
        self.s.external(t)
        self.elsewhere.add(t)

    @precondition(lambda self: self.having(RUNNING))
    @rule(data=st.data())
    def hold(self, data: st.DataObject) -> None:
        t = data.draw(st.sampled_from(self.having(RUNNING)))
        self.s.hold(t)
        self.held.add(t)

    @rule()
    def retry_external(self) -> None:
        self.s.retry_external()
        self.elsewhere.clear()

    @rule()
    def commit(self) -> None:
        wave = self.s.wave()
        if wave is not None:
            assert set(wave.tasks) <= self.settled
            assert {self.level[t] for t in wave.tasks} == {wave.number}
            level = [t.id for t in self.plan.tasks if self.level[t.id] == wave.number]
            below = [t.id for t in self.plan.tasks if self.level[t.id] < wave.number]
            assert all(self.s.states[t] in ENDED for t in below)
            assert all(self.s.states[t] in (SETTLED, *ENDED) for t in level)
            assert list(wave.tasks) == [t for t in level if self.s.states[t] is SETTLED]
            self.s.committed(wave.number)
            self.waves.append(wave.number)
            self.settled -= set(wave.tasks)
            assert all(self.s.states[t] is TaskState.DONE for t in wave.tasks)

    @invariant()
    def running_tasks_never_conflict(self) -> None:
        running = self.having(RUNNING)
        assert len(running) <= self.capacity
        for i, one in enumerate(running):
            assert not any(clash(self.s.locks(one), self.s.locks(o)) for o in running[:i])

    @invariant()
    def tasks_are_conserved(self) -> None:
        assert list(self.s.states) == [t.id for t in self.plan.tasks]
        assert set(self.having(SETTLED)) == self.settled
        assert set(self.having(TaskState.FAILED)) == set(self.failed)
        assert self.s.done == (len(self.having(*ENDED)) == len(self.plan.tasks))

    @invariant()
    def nothing_is_settled_before_what_it_depends_on(self) -> None:
        for item in self.plan.tasks:
            if item.id in self.having(PENDING, RUNNING, SETTLED):
                assert self.s.stands(item.id) == self.stands(item.id)
            if self.s.states[item.id] in (SETTLED, TaskState.DONE):
                assert self.stands(item.id)

    @invariant()
    def exactly_the_dependants_of_failed_tasks_are_skipped(self) -> None:
        for item in self.plan.tasks:
            below = {self.s.states[d] for d in item.depends_on}
            doomed = bool(below & {TaskState.FAILED, TaskState.SKIPPED})
            state = self.s.states[item.id]
            assert (state is TaskState.SKIPPED) == (doomed and item.id not in self.failed)

    @invariant()
    def who_is_stuck_has_nothing_left_to_do(self) -> None:
        busy = bool(self.having(RUNNING) or self.elsewhere or self.s.wave())
        assert self.s.is_stuck == (bool(self.held) and not busy)

    @invariant()
    def wave_numbers_rise(self) -> None:
        assert self.waves == sorted(set(self.waves))

    @invariant()
    def what_waits_is_ready_and_really_in_conflict(self) -> None:
        for t, conflict in self.s.waiting().items():
            assert t in self.ready()
            assert conflict.owner in self.having(PENDING, RUNNING)
            assert conflict.owner != t
            assert Lock(conflict.node, conflict.wanted) in self.s.locks(t)
            assert Lock(conflict.node, conflict.held) in self.s.locks(conflict.owner)

    def teardown(self) -> None:
        """It always ends, and within as many steps as there is left to do."""
        if not hasattr(self, "s"):
            return
        self.retry_external()
        for t in sorted(self.held):
            if t in self.having(PENDING):
                self.s.fail(t, "no")
        for _ in range(3 * len(self.plan.tasks) + 3):
            if self.s.done:
                break
            self.start()
            for t in self.having(RUNNING):
                if self.stands(t):
                    self.s.settle(t)
                    self.settled.add(t)
                else:
                    self.s.requeue(t)
            self.commit()
        assert self.s.done


TestCarried = Carried.TestCase
TestCarried.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
