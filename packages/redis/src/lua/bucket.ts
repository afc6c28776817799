import { LONGEST_STEP, MOST_RETURNED } from '@spillway/core/internal'

const text = (): string => /* lua */ `
local function tickOf(now, schedule)
  return floor((now + schedule.offset) / schedule.interval) * schedule.amount
end

local function fullTick(moment, schedule)
  local shifted = moment + schedule.offset - schedule.interval
  local units = ceil(fmod(shifted, schedule.interval) / schedule.tick)
  return floor(shifted / schedule.interval) * schedule.amount + min(units, schedule.amount)
end

local function fullMoment(tick, schedule)
  if not schedule then return tick end
  return floor(tick / schedule.amount) * schedule.interval + fmod(tick, schedule.amount) * schedule.tick + schedule.interval - schedule.offset
end

local function exactly(tick, early, scale)
  if early < 0 then return tick + 1, early + scale end
  if early < scale then return tick, early end
  return tick - 1, early - scale
end

local function isBefore(tick, early, otherTick, otherEarly)
  return tick < otherTick or tick == otherTick and early > otherEarly
end

local function earliest(tick, early, otherTick, otherEarly)
  if isBefore(otherTick, otherEarly, tick, early) then return otherTick, otherEarly end
  return tick, early
end

local function stateAt(tick, early, gross, grossEarly, turn, nowTick, step)
  local schedule, tat = step.schedule, tick
  if schedule then tat = fullMoment(tick, schedule) end
  if tick - nowTick > step.ceiling then tat = -tat end
  local ahead, isWhole = turn > nowTick, early == 0 and grossEarly == 0
  if isWhole and gross == tick and not ahead then return tat end
  local full, last = fullMoment(gross, schedule), ahead and fullMoment(turn, schedule) or 0
  if isWhole then return { tat = tat, gross = full, turn = last } end
  return { tat = tat, gross = full, turn = last, scale = step.fraction.scale, early = early, grossEarly = grossEarly }
end

local function returnedBy(last, nowTick, base, early, gross, grossEarly, turn, step, parts)
  local limit, limitEarly = step['until'], parts['until']
  local tick, part = -step.increment, -parts.increment
  if last or limit == ${Number.MAX_SAFE_INTEGER} then return earliest(tick, part, base - nowTick, early) end
  if isBefore(gross, grossEarly, limit, limitEarly) then return 0, 0 end
  local full, fullEarly = exactly(limit - (gross - base), limitEarly - grossEarly + early, parts.scale)
  local ends, endsEarly = earliest(step.ends, 0, base, early)
  if isBefore(full, fullEarly, ends, endsEarly) then full, fullEarly = ends, endsEarly end
  full = full - max(nowTick, turn)
  if full <= 0 then return 0, 0 end
  return earliest(tick, part, full, fullEarly)
end

local function fullBy(state) return type(state) == 'number' and abs(state) or state.gross end

local function startedState(state, now, step)
  local start, schedule = step.start, step.schedule
  if state ~= nil and fullBy(state) + start.keep > now then return state end
  local tat, early = fullMoment((schedule and tickOf(now, schedule) or now) + start.lacking, schedule), start.early
  if early == 0 then return tat end
  return { tat = tat, gross = tat, turn = 0, scale = step.fraction.scale, early = early, grossEarly = early }
end

local WHOLE = { scale = 1, increment = 0, check = 0, tolerance = 0, burst = 0, ['until'] = 0 }

local function bucket(state, now, step)
  if step.start then state = startedState(state, now, step) end
  local schedule, fraction, ceiling = step.schedule, step.fraction, step.ceiling
  local refunded, stored, early, grossEarly = nil, state, 0, 0
  if type(state) == 'table' then
    refunded, stored = state, state.tat
    if fraction and state.scale == fraction.scale then early, grossEarly = state.early, state.grossEarly end
  end
  local nowTick, due, tat = now, now + step.maxWaitMicros, stored or now
  if tat < 0 then tat = -tat end
  if schedule then
    nowTick, due = tickOf(now, schedule), tickOf(due, schedule)
    tat = stored == nil and nowTick or fullTick(tat, schedule)
  end
  local withinCeiling = stored == nil or stored < 0 or tat - nowTick <= ceiling
  local base = tat
  if not withinCeiling then base, early = nowTick + ceiling, 0 end
  if base <= nowTick then base, early = nowTick, 0 end
  local gross, turn = tat, 0
  if refunded then
    gross, turn = refunded.gross, refunded.turn
    if schedule then gross, turn = fullTick(gross, schedule), turn > 0 and fullTick(turn, schedule) or 0 end
  end
  if isBefore(gross, grossEarly, base, early) then gross, grossEarly = base, early end
  if not withinCeiling then
    if (gross - base) * (schedule and schedule.tick or 1) <= ${LONGEST_STEP} then turn = gross
    else gross, grossEarly, turn = base, early, 0 end
  end
  local fitsAt = base + step.check - step.tolerance
  local next, grossNext, turnNext = base + step.increment, gross + step.increment, turn
  local nextEarly, grossNextEarly = 0, 0
  if fraction then
    local scale = fraction.scale
    fitsAt = exactly(fitsAt, early + fraction.check - fraction.tolerance, scale)
    next, nextEarly = exactly(next, early + fraction.increment, scale)
    if gross == base and grossEarly == early then grossNext, grossNextEarly = next, nextEarly
    else grossNext, grossNextEarly = exactly(grossNext, grossEarly + fraction.increment, scale) end
  end
  if step.increment < 0 then
    local parts = fraction or WHOLE
    local scale, last = parts.scale, step['until'] == gross and parts['until'] == grossEarly
    local newest = max(turn, (exactly(base - step.burst, early - parts.burst, scale)))
    local tick, part = returnedBy(last, nowTick, base, early, gross, grossEarly, newest, step, parts)
    next, nextEarly = exactly(base - tick, early - part, scale)
    grossNext, grossNextEarly = gross, grossEarly
    if last then grossNext, grossNextEarly = exactly(gross - tick, grossEarly - part, scale) end
    if tick ~= 0 and not (last and step.whole) then turnNext = newest end
  end
  if grossNext ~= next then
    local most = next + floor(${MOST_RETURNED} / (schedule and schedule.tick or 1))
    if grossNext > most then grossNext, grossNextEarly = most, 0 end
  end
  local taken, kept = nil, state
  if state ~= nil or next ~= nowTick then taken = stateAt(next, nextEarly, grossNext, grossNextEarly, turnNext, nowTick, step) end
  if not withinCeiling then kept = stateAt(base, early, gross, grossEarly, turn, nowTick, step) end
  return fitsAt <= due, base, next, taken, kept, grossNext, early, nextEarly, grossNextEarly
end

kernels.bucket = {
  owns = function(state) return type(state) == 'number' or state.gross ~= nil end,
  adopt = function(state, now, step, usedBy)
    local schedule, ceiling = step.schedule, step.ceiling
    local tick = schedule and tickOf(now, schedule) or now
    local size = schedule and schedule.tick or 1
    local units, since, micros = usedBy(state, now, ceiling * size)
    local used = units * abs(step.increment) - (tick - (schedule and tickOf(since, schedule) or since))
    local ticks = min(max(used, ceil(micros / size)), ceiling)
    return ticks > 0 and fullMoment(tick + ticks, schedule) or nil
  end,
  step = bucket,
  report = function(reply, place, now, step, base, next, written, grossNext, early, nextEarly, grossEarly)
    local answer = place - 1
    reply[place], reply[place + 1] = base - now, written and next - base or 0
    place = place + 2
    if step.fraction then
      reply[place], reply[place + 1] = early, written and nextEarly or early
      place = place + 2
    end
    if written and (grossNext ~= next or grossEarly ~= nextEarly) then
      reply[answer], reply[place], place = 2, grossNext - next, place + 1
      if step.fraction then reply[place], place = grossEarly, place + 1 end
    end
    return place
  end,
  encode = function(state)
    if type(state) == 'number' then return state end
    local tat, gross, turn, scale, early, grossEarly = state.tat, state.gross, state.turn, state.scale, state.early, state.grossEarly
    if scale then
      if gross == abs(tat) and turn == 0 and grossEarly == early then return 'e' .. cmsgpack.pack(tat, scale, early) end
      return 'e' .. cmsgpack.pack(tat, scale, early, gross, turn, grossEarly)
    end
    return format('b:%.0f:%.0f:%.0f', tat, gross, turn)
  end,
  emptyAt = function(state, step) return fullBy(state) + (step.start and step.start.keep or 0) end,
}
`

/**
 * The bucket kernel in Lua: the arithmetic of `kernels/bucket.ts` of core. A bucket without a
 * refill schedule is stepped without a function call: calls cost the most time here. An answer of 2 announces how much later
 * `gross` is than the new state.
 */
// A call, so that bundlers leave it out: a template with numbers of another package might do something.
export const bucketLua: string = /* @__PURE__ */ text()
