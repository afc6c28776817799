import type { Planted } from '../defect.ts'

/** Defects of slots: some are those of others who count what is in flight. */
export const SLOTS_DEFECTS: readonly Planted[] = [
  {
    name: 'slots are never renewed',
    file: 'core/src/features/slots/heartbeat.ts',
    seed: 3221225475,
    property: 'slotsAreReleased',
    replaced: [['this.beat()\n        if', 'if']],
  },
  {
    name: 'slots expire by the clock of the client',
    file: 'core/src/remote/remote-calls.ts',
    seed: 3221225484,
    property: 'slotsAreKept',
    replaced: [
      ['this.store.take(this.#takes, undefined, this', 'this.store.take(this.#takes, Date.now() * 1000, this'],
    ],
  },
  {
    name: 'slots expire by the timeout of who acquires them',
    file: 'core/src/algorithms/slots/slots-step.ts',
    seed: 3221225475,
    property: 'holdersAreNoMore',
    replaced: [['ttl: window', "ttl: verb === 'consume' ? Math.min(window, 300_000) : window"]],
  },
  {
    name: 'numbers of slots are given again, so that a late release frees those of others',
    file: 'core/src/kernels/slots.ts',
    seed: 3221225480,
    property: 'holdersAreNoMore',
    replaced: [['Math.max(now, base.last + 1)', '(base.slots.at(-2) ?? 0) + 1']],
  },
  {
    name: 'a release without the number of its slot frees the latest',
    file: 'core/src/policies/takes.ts',
    seed: 3221225476,
    property: 'holdersAreNoMore',
    replaced: [["verb === 'refund' ? { original } : undefined", 'void original as undefined']],
  },
  {
    name: 'a second release frees the latest slot',
    file: 'core/src/features/slots/held.ts',
    seed: 3221225475,
    property: 'holdersAreNoMore',
    replaced: [
      ['released ??= whileHeld', 'released = whileHeld'],
      [
        'return left.length === slots.length ? [0, base] : [from, { last, ttl, slots: left }]',
        'return [from, { last, ttl, slots: left.length === slots.length ? slots.slice(0, 2 * increment) : left }]',
        'core/src/kernels/slots.ts',
      ],
    ],
  },
  {
    name: 'slots that seem unused are deleted by a second command',
    file: 'core/src/features/slots/acquire.ts',
    seed: 3221225473,
    property: 'holdersAreNoMore',
    replaced: [
      [
        'catchUp()\n  const acquisition',
        `catchUp()
  const seen = await acquireNow('peek', checks)
  if (seen.decision.remaining === seen.decision.limit)
    void checks[0]?.policy.storeConfig.store.delete(checks.map((each) => ({ policy: each.policy.name, key }))).catch(() => {})
  const acquisition`,
      ],
    ],
  },
  {
    name: 'slots that were lost are renewed',
    file: 'core/src/kernels/slots.ts',
    seed: 3221225476,
    property: 'lossesAreReported',
    replaced: [
      ['isNamed(i))) return [0, base]', 'isNamed(i))) return [id, { last, ttl, slots: [...slots, id, now + ttl] }]'],
    ],
  },
  {
    name: 'a process does not learn that its slots are lost',
    file: 'core/src/features/slots/heartbeat.ts',
    seed: 3221225476,
    property: 'lossesAreReported',
    replaced: [['answer.id === 0 && this', 'answer.id < 0 && this']],
  },
  {
    name: 'slots of a caller that leaves are kept',
    file: 'core/src/features/slots/acquire.ts',
    seed: 3221225479,
    property: 'slotsAreReleased',
    replaced: [['if (acquisition !== undefined) await rollback(acquisition)', '']],
  },
  {
    name: 'callers in line acquire in any order',
    file: 'core/src/limiter/caller.ts',
    seed: 3221225483,
    property: 'waitersAreServedInOrder',
    replaced: [['this.#line.add(this.order, this)', 'this.#line.add(-this.order, this)']],
  },
  {
    name: 'callers in line do not look again for slots that other processes release',
    file: 'core/src/limiter/in-line.ts',
    seed: 3221225493,
    property: 'waitersAreServed',
    replaced: [['const LOOKS_EVERY_MS = 100', 'const LOOKS_EVERY_MS = 60_000']],
  },
  {
    name: 'a caller that was taken for lost while none may acquire is never called',
    file: 'core/src/limiter/in-line.ts',
    seed: 3221225746,
    property: 'everyCallIsAnswered',
    replaced: [
      [
        '((caller.isFirst() || caller.maxWaitMicros === undefined) && !callers.areHeld)',
        '(!callers.areHeld && (caller.isFirst() || caller.maxWaitMicros === undefined))',
      ],
    ],
  },
]
