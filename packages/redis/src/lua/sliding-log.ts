/** The sliding-log kernel in Lua: the arithmetic of `kernels/sliding-log.ts` of core; a log's indices start at 1. */
export const slidingLogLua = /* lua */ `
local function slice(log, first, last)
  local part = {}
  for i = first, last do part[#part + 1] = log[i] end
  return part
end

local function unitsOf(log, first)
  local units = 0
  for i = (first or 1) + 1, #log, 2 do units = units + log[i] end
  return units
end

local function dated(log, now)
  local past = 1
  while log[past] < now do past = past + 2 end
  local rest = slice(log, 1, past - 1)
  rest[past], rest[past + 1] = now, unitsOf(log, past)
  return rest
end

local function live(log, now, window)
  local first = 1
  while first < #log and log[first] + window <= now do first = first + 2 end
  local rest = first == 1 and log or slice(log, first, #log)
  local newest = #rest == 0 and now or rest[#rest - 1]
  return newest <= now and rest or dated(rest, now)
end

local function takeLog(log, now, step)
  local newest = log[#log - 1]
  local owed = #log > 0 and unitsOf(log) >= step.limit
  local fresh = newest ~= now and not owed
  local kept = slice(log, 1, fresh and #log or #log - 2)
  local units = fresh and step.increment or log[#log] + step.increment
  kept[#kept + 1] = now
  kept[#kept + 1] = units
  return kept
end

local function refundLog(log, step)
  local left = slice(log, 1, #log)
  local give = -step.increment
  for i = #left - 1, 1, -2 do
    if give > 0 and (step.since == 0 or left[i] == step.since) then
      local units = min(left[i + 1], give)
      left[i + 1] = left[i + 1] - units
      give = give - units
    end
  end
  local rest = {}
  for i = 1, #left, 2 do
    if left[i + 1] ~= 0 then
      rest[#rest + 1] = left[i]
      rest[#rest + 1] = left[i + 1]
    end
  end
  return rest
end

local function slidingLog(state, now, step)
  local base = live(state or {}, now, step.window)
  local allowed = unitsOf(base) + step.check <= step.limit
  local next = step.increment < 0 and refundLog(base, step) or takeLog(base, now, step)
  local ahead = state ~= nil and #state > 0 and state[#state - 1] > now
  local taken, kept = next, state
  if state == nil and step.increment < 0 then taken = nil end
  if ahead then kept = base end
  return allowed, base, next, taken, kept
end

local function fitsAt(log, now, step, units)
  local over = unitsOf(log) + units - step.limit
  for i = 1, #log, 2 do
    if over <= 0 then break end
    over = over - log[i + 1]
    if over <= 0 then return log[i] + step.window end
  end
  return now
end

kernels['sliding-log'] = {
  owns = function(state) return type(state) == 'table' and #state % 2 == 0 and (state[1] ~= nil or next(state) == nil) end,
  adopt = function(state, now, step, _, countedBy)
    local units, since = countedBy(state, now, step.limit, step.window)
    return units > 0 and { since, units } or nil
  end,
  step = slidingLog,
  report = function(reply, place, now, step, base, next, written)
    local log = written and next or base
    local used = unitsOf(log)
    reply[place] = used
    reply[place + 1] = fitsAt(base, now, step, step.check) - now
    reply[place + 2] = fitsAt(log, now, step, max(step.limit - used, 0) + 1) - now
    reply[place + 3] = #log == 0 and 0 or log[#log - 1] + step.window - now
    return place + 4
  end,
  encode = function(state) return 'l' .. cmsgpack.pack(state) end,
  emptyAt = function(state, step) return #state == 0 and 0 or state[#state - 1] + step.window end,
}
`
