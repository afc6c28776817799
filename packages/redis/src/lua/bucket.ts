import { LONGEST_STEP, MOST_RETURNED } from '@spillway/core'

/**
 * The bucket kernel in Lua: `kernels/bucket.ts` of core, in the same order with the same names. A bucket without a grain
 * is stepped without a call: calls are what takes time here.
 */
export const bucketLua: string = /* lua */ `
local function tickOf(now, grain)
  return floor((now + grain.shift) / grain.every) * grain.amount
end

local function fullTick(moment, grain)
  local shifted = moment + grain.shift - grain.every
  local units = ceil(fmod(shifted, grain.every) / grain.unit)
  return floor(shifted / grain.every) * grain.amount + min(units, grain.amount)
end

local function fullMoment(tick, grain)
  if not grain then return tick end
  return floor(tick / grain.amount) * grain.every + fmod(tick, grain.amount) * grain.unit + grain.every - grain.shift
end

local function stateAt(tick, gross, turn, at, step)
  local grain, tat = step.grain, tick
  if grain then tat = fullMoment(tick, grain) end
  if tick - at > step.ceiling then tat = -tat end
  local ahead = turn > at
  if gross == tick and not ahead then return tat end
  return { tat = tat, gross = fullMoment(gross, grain), turn = ahead and fullMoment(turn, grain) or 0 }
end

local function returned(at, base, gross, turn, step)
  local increment, limit = step.increment, step['until']
  if limit == ${Number.MAX_SAFE_INTEGER} or limit == gross then return min(-increment, base - at) end
  if limit > gross then return 0 end
  return max(min(-increment, max(limit - (gross - base), step.ends) - max(at, turn)), 0)
end

local function fullBy(state) return type(state) == 'number' and abs(state) or state.gross end

local function startedState(state, now, step)
  local start, grain = step.start, step.grain
  if state ~= nil and fullBy(state) + start.keep > now then return state end
  return fullMoment((grain and tickOf(now, grain) or now) + start.lacking, grain)
end

local function bucket(state, now, step)
  if step.start then state = startedState(state, now, step) end
  local grain, increment, ceiling = step.grain, step.increment, step.ceiling
  local refunded, stored = nil, state
  if type(state) == 'table' then refunded, stored = state, state.tat end
  local at, due, tat = now, now + step.patience, stored or now
  if tat < 0 then tat = -tat end
  if grain then
    at, due = tickOf(now, grain), tickOf(due, grain)
    tat = stored == nil and at or fullTick(tat, grain)
  end
  local honest = stored == nil or stored < 0 or tat - at <= ceiling
  local base = honest and tat or at + ceiling
  if base < at then base = at end
  local gross, turn = tat, 0
  if refunded then
    gross, turn = refunded.gross, refunded.turn
    if grain then gross, turn = fullTick(gross, grain), turn > 0 and fullTick(turn, grain) or 0 end
  end
  if gross < base then gross = base end
  if not honest then
    local known = (gross - base) * (grain and grain.unit or 1) <= ${LONGEST_STEP}
    gross, turn = known and gross or base, known and gross or 0
  end
  local allowed = base + step.check - due <= step.tolerance
  local change, grossNext, turnNext = increment, gross + increment, turn
  if increment < 0 then
    local latest, last = max(turn, base - step.burst), step['until'] == gross
    change = -returned(at, base, gross, latest, step)
    grossNext = last and gross + change or gross
    if change ~= 0 and not (last and step.whole and gross == base) then turnNext = latest end
  end
  local next = base + change
  if grossNext ~= next then grossNext = min(grossNext, next + floor(${MOST_RETURNED} / (grain and grain.unit or 1))) end
  local taken, kept = nil, state
  if state ~= nil or next ~= at then taken = stateAt(next, grossNext, turnNext, at, step) end
  if not honest then kept = stateAt(base, gross, turn, at, step) end
  return allowed, base, next, taken, kept, grossNext
end

kernels.bucket = {
  owns = function(state) return type(state) == 'number' or state.gross ~= nil end,
  step = bucket,
  tell = function(reply, place, now, step, base, next, written, grossNext)
    reply[place], reply[place + 1] = base - now, written and next - base or 0
    if not written or grossNext == next then return place + 2 end
    -- One number more follows.
    reply[place - 1], reply[place + 2] = 2, grossNext - next
    return place + 3
  end,
  encode = function(state)
    if type(state) == 'number' then return state end
    return format('b:%.0f:%.0f:%.0f', state.tat, state.gross, state.turn)
  end,
  emptyAt = function(state, step) return fullBy(state) + (step.start and step.start.keep or 0) end,
}
`
