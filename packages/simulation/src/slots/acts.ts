import type { Slot } from '@spillway/core'
import { acquire as acquireSlots } from '@spillway/core/in-flight'
import type { Context } from '../context.ts'
import { Departure } from '../runtime/departure.ts'
import { SLOTS } from './holdings.ts'

/** Acquires slots, holds them for a while, and releases them: once, twice or never. Its caller may leave before. */
export async function acquire({ handle, key, act, enter, simulation, process }: Context): Promise<void> {
  const { world, ledger, setting } = simulation
  const later = (micros: number, run: () => void): void => world.after(micros, () => process.host.receive(run))
  const leaves = new Departure()
  if (act.leavesMicros !== undefined) later(act.leavesMicros, () => leaves.abort(new Error('The caller left.')))
  const maxWait = act.does === 'acquire' ? 0 : (`${act.maxWaitMs}ms` as const)
  let slot: Slot | undefined
  const { holding, entry } = await ledger.holdings.acquire(process.host, true, (holding) => {
    const onLost = (): void => {
      holding.lostAt ??= world.now
    }
    const call = async (): Promise<Slot> => {
      slot = await acquireSlots(handle.limiter, key, { cost: act.cost, maxWait, signal: leaves, onLost })
      return slot
    }
    return enter(act.cost, maxWait === 0 ? 0 : act.maxWaitMs, call, setting.rate && SLOTS)
  })
  if (!entry.decision?.allowed) return
  for (let i = 0; i < (act.releases ?? 1); i++) {
    later(act.laterMicros * (i + 1), () => {
      holding.releasedAt ??= world.now
      void slot?.release()
    })
  }
}
