import { LONGEST } from '@spillway/core/internal'

const text = (): string => /* lua */ `
local function dividedUp(x, y, divisor)
  local high = floor(y / ${2 ** 17})
  local low = y - high * ${2 ** 17}
  local whole = floor(x * high / divisor)
  local rest = x * high - whole * divisor
  return whole * ${2 ** 17} + ceil((rest * ${2 ** 17} + x * low) / divisor)
end

local function slowdown(before, after, half)
  local a, b = max(before - half, 0), max(after - half, 0)
  return dividedUp(a - b, a + b, half)
end

local function exact(tick, early, scale)
  if early < 0 then return tick + 1, early + scale end
  if early < scale then return tick, early end
  return tick - 1, early - scale
end

local function foundWarmUp(state, now, step)
  local half, scale = step.half, step.scale
  if state == nil then return { writtenAt = now, ahead = 0, early = 0, cold = 2 * half, scale = scale } end
  local left = state.ahead - max(now - state.writtenAt, 0)
  local early = state.scale == scale and state.early or 0
  if left > 0 then return { writtenAt = now, ahead = left, early = early, cold = min(state.cold, 2 * half), scale = scale } end
  return { writtenAt = now, ahead = 0, early = 0, cold = min(state.cold - left, 2 * half), scale = scale }
end

local function takeWarmUp(base, step)
  local tick, early = exact(base.ahead + step.increment, base.early + step.early, step.scale)
  local cold = max(base.cold - (tick - base.ahead), 0)
  local ahead = tick + slowdown(base.cold, cold, step.half)
  return { writtenAt = base.writtenAt, ahead = ahead, early = early, cold = cold, scale = base.scale }
end

local function refundWarmUp(base, step)
  local writtenAt, ahead, early, scale = base.writtenAt, base.ahead, base.early, base.scale
  local known = step['until'] ~= ${Number.MAX_SAFE_INTEGER}
  local last = writtenAt + ahead == step['until'] and early == step.untilEarly
  if ahead == 0 or known and not last then return base end
  local cold = known and step.cold or min(base.cold - step.increment, 2 * step.half)
  local slower = known and 0 or slowdown(cold, base.cold, step.half)
  local tick, part = exact(ahead + step.increment - slower, early + step.early, scale)
  if tick > 0 then return { writtenAt = writtenAt, ahead = tick, early = part, cold = cold, scale = scale } end
  return { writtenAt = writtenAt, ahead = 0, early = 0, cold = min(cold - tick, 2 * step.half), scale = scale }
end

local function warmUp(state, now, step)
  local base = foundWarmUp(state, now, step)
  local next = step.increment < 0 and refundWarmUp(base, step) or takeWarmUp(base, step)
  local allowed = base.ahead + step.check <= step.tolerance
  local taken, kept = next, state
  if state == nil and step.increment < 0 then taken = nil end
  if state ~= nil and state.writtenAt > now then kept = base end
  return allowed, base, next, taken, kept
end

kernels['warm-up'] = {
  owns = function(state) return type(state) == 'table' and state.cold ~= nil end,
  adopt = function(state, now, step, usedBy)
    local increment = step.increment
    if increment < 0 then return nil end
    local units, since, micros = usedBy(state, now, math.huge)
    local ahead = min(max(micros, units * increment - (now - since)), ${LONGEST})
    return ahead > 0 and { writtenAt = now, ahead = ahead, early = 0, cold = 2 * step.half, scale = step.scale } or nil
  end,
  step = warmUp,
  report = function(reply, place, now, step, base, next, written)
    local state = written and next or base
    reply[place], reply[place + 1], reply[place + 2] = base.ahead, base.early, base.cold
    reply[place + 3], reply[place + 4], reply[place + 5] = state.ahead, state.early, state.cold
    return place + 6
  end,
  encode = function(state)
    return format('c:%.0f:%.0f:%.0f:%.0f:%.0f', state.writtenAt, state.ahead, state.early, state.cold, state.scale)
  end,
  emptyAt = function(state, step) return state.writtenAt + state.ahead + max(2 * step.half - state.cold, 0) end,
}
`

/** The warm-up kernel in Lua: the arithmetic of `kernels/warm-up.ts` of core. */
// A call, so that bundlers leave it out: a template with numbers of another package might do something.
export const warmUpLua: string = /* @__PURE__ */ text()
