/** The bucket kernel in Lua: `kernels/bucket.ts` of core, line for line. */
export const bucketLua = /* lua */ `
local function tickOf(now, grain)
  if not grain then return now end
  return floor((now + grain.shift) / grain.every) * grain.amount
end

local function fullTick(moment, grain)
  if not grain then return moment end
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
  local grain = step.grain
  local at = tickOf(now, grain)
  local due = step.patience == 0 and at or tickOf(now + step.patience, grain)
  local tat = state == nil and at or fullTick(abs(state), grain)
  local honest = state == nil or state < 0 or tat - at <= step.ceiling
  local base = max(honest and tat or at + step.ceiling, at)
  local next = max(base + max(step.increment, min(at - step['until'], 0)), at)
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
    reply[place], reply[place + 1] = base, written and next or base
    return place + 2
  end,
  encode = function(state) return format('%.0f', state) end,
  emptyAt = abs,
}
`
