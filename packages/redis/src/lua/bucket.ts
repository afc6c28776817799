/**
 * The bucket kernel in Lua: `kernels/bucket.ts` of core, in the same order with the same names. A bucket without a grain
 * is stepped without a call: calls are what takes time here.
 */
export const bucketLua = /* lua */ `
local function tickOf(now, grain)
  return floor((now + grain.shift) / grain.every) * grain.amount
end

local function fullTick(moment, grain)
  local shifted = moment + grain.shift - grain.every
  local units = ceil(fmod(shifted, grain.every) / grain.unit)
  return floor(shifted / grain.every) * grain.amount + min(units, grain.amount)
end

local function stateAt(tick, at, step)
  local grain, moment = step.grain, tick
  if grain then
    moment = floor(tick / grain.amount) * grain.every + fmod(tick, grain.amount) * grain.unit + grain.every - grain.shift
  end
  if tick - at > step.ceiling then return -moment end
  return moment
end

local function bucket(state, now, step)
  local grain, increment = step.grain, step.increment
  local at, due, tat = now, now + step.patience, state or now
  if tat < 0 then tat = -tat end
  if grain then
    at, due = tickOf(now, grain), tickOf(due, grain)
    tat = state == nil and at or fullTick(tat, grain)
  end
  local honest = state == nil or state < 0 or tat - at <= step.ceiling
  local base = honest and tat or at + step.ceiling
  if base < at then base = at end
  if increment < 0 then increment = max(increment, min(at - step['until'], 0)) end
  local next = base + increment
  if next < at then next = at end
  local allowed = base + step.check - due <= step.tolerance
  local taken, kept = nil, state
  if state ~= nil or next ~= at then taken = stateAt(next, at, step) end
  if not honest then kept = stateAt(base, at, step) end
  return allowed, base, next, taken, kept
end

kernels.bucket = {
  owns = function(state) return type(state) == 'number' end,
  step = bucket,
  tell = function(reply, place, now, step, base, next, written)
    reply[place], reply[place + 1] = base - now, written and next - base or 0
    return place + 2
  end,
  encode = function(state) return state end,
  emptyAt = abs,
}
`
