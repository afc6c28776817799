/** The sliding-window kernel in Lua: the arithmetic of `kernels/sliding-window.ts` and `kernels/calendar.ts` of core. */
export const slidingWindowLua = /* lua */ `
local function startAt(now, step)
  return step.offset and now - fmod(now + step.offset, step.ticks * step.tick) or now
end

local function turned(state, now, window, start)
  if state == nil or now - state.start >= 2 * window then return { start = start, current = 0, previous = 0 } end
  if now < state.start then return { start = start, current = state.current, previous = state.previous } end
  if now - state.start < window then return state end
  return { start = state.start + window, current = 0, previous = state.current }
end

local SAME_START = 43200e6

local function windowAt(starts, state, now)
  local i = 1
  while (starts[i + 1] or math.huge) <= now do i = i + 1 end
  local start = starts[i]
  if state == nil or state.start < start - SAME_START then return { start = start, current = 0, previous = 0 } end
  if state.start > (starts[i + 1] or start) + SAME_START then
    return { start = start, current = state.current, previous = 0 }
  end
  if state.previous == 0 then return state end
  return { start = state.start, current = state.current, previous = 0 }
end

local function endOf(starts, start)
  local time = start + SAME_START
  for i = 1, #starts do
    if starts[i] > time then return starts[i] end
  end
  return time + starts[#starts] - starts[1]
end

local function refundWindow(base, step)
  local start, current, previous = base.start, base.current, base.previous
  local give = -step.increment
  local unknown = step.since == 0
  local fromCurrent = (unknown or step.since == start) and min(give, current) or 0
  local inPrevious = step.since == start - step.ticks * step.tick
  local fromPrevious = (unknown or inPrevious) and min(give - fromCurrent, previous) or 0
  return { start = start, current = current - fromCurrent, previous = previous - fromPrevious }
end

local function takeWindow(base, step)
  return { start = base.start, current = min(base.current + step.increment, step.most), previous = base.previous }
end

local function slidingWindow(state, now, step)
  local window = step.ticks * step.tick
  local over = step.fixed and state ~= nil and now - state.start >= window
  local base = step.calendar and windowAt(step.calendar, state, now)
    or turned(not over and state or nil, now, window, startAt(now, step))
  local rest = step.ticks - floor((now - base.start) / step.tick)
  local allowed = base.previous * rest < (step.limit - base.current - step.check + 1) * step.ticks
  local next = step.increment < 0 and refundWindow(base, step) or takeWindow(base, step)
  local taken, kept = next, state
  if state == nil and step.increment < 0 then taken = nil end
  if state ~= nil and state.start > now then kept = base end
  return allowed, base, next, taken, kept
end

kernels['sliding-window'] = {
  owns = function(state) return type(state) == 'table' and state.start ~= nil end,
  adopt = function(state, now, step, _, countedBy)
    local units, since = countedBy(state, now, step.limit, step.ticks * step.tick)
    local start = step.calendar and windowAt(step.calendar, nil, now).start or startAt(since, step)
    return units > 0 and since >= start and { start = start, current = units, previous = 0 } or nil
  end,
  step = slidingWindow,
  report = function(reply, place, now, step, base, next, written)
    local state = written and next or base
    reply[place], reply[place + 1], reply[place + 2] = state.start - now, state.current, state.previous
    return place + 3
  end,
  encode = function(state) return format('w:%.0f:%.0f:%.0f', state.start, state.current, state.previous) end,
  emptyAt = function(state, step)
    if step.calendar then return endOf(step.calendar, state.start) end
    return state.start + (step.fixed and 1 or 2) * step.ticks * step.tick
  end,
}
`
