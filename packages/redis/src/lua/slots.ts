/** The slots kernel in Lua: the arithmetic of `kernels/slots.ts` of core; a list's indices start at 1. */
export const slotsLua = /* lua */ `
local function usedIn(slots, now)
  local used = 0
  for i = 2, #slots, 2 do
    if slots[i] > now then used = used + 1 end
  end
  return used
end

local function heldFrom(state, now, ttl)
  local slots, isAhead = {}, false
  for i = 1, #state.slots, 2 do
    local ends = state.slots[i + 1]
    isAhead = isAhead or ends > now + ttl
    slots[i], slots[i + 1] = state.slots[i], min(ends, now + ttl)
  end
  return isAhead and { last = state.last, slots = slots } or state
end

local function acquireSlots(base, now, used, step)
  local count = min(step.increment, max(step.limit - used, 0))
  if count == 0 then return 0, base end
  local first, slots = max(now, base.last + 1), {}
  for i = 1, #base.slots, 2 do
    if base.slots[i + 1] > now then
      slots[#slots + 1] = base.slots[i]
      slots[#slots + 1] = base.slots[i + 1]
    end
  end
  for i = 0, count - 1 do
    slots[#slots + 1] = first + i
    slots[#slots + 1] = now + step.ttl
  end
  return first, { last = first + count - 1, slots = slots }
end

local function renewSlots(base, now, step)
  local slots, id = {}, 0
  for i = 1, #base.slots, 2 do
    local each, ends = base.slots[i], base.slots[i + 1]
    if each >= step.id and each < step.id + step.increment then id, ends = step.id, now + step.ttl end
    slots[i], slots[i + 1] = each, ends
  end
  return id, id > 0 and { last = base.last, slots = slots } or base
end

local function releaseSlots(base, step)
  local from, to = step.id, step.id - step.increment
  if from == 0 then from, to = base.slots[max(#base.slots + 2 * step.increment, 0) + 1] or 0, base.last + 1 end
  local left = {}
  for i = 1, #base.slots, 2 do
    local each = base.slots[i]
    if each < from or each >= to then
      left[#left + 1] = each
      left[#left + 1] = base.slots[i + 1]
    end
  end
  if #left == #base.slots then return 0, base end
  return from, { last = base.last, slots = left }
end

local function slots(state, now, step)
  local base = heldFrom(state or { last = 0, slots = {} }, now, step.ttl)
  local used = usedIn(base.slots, now)
  local id, next
  if step.increment < 0 then id, next = releaseSlots(base, step)
  elseif step.id > 0 then id, next = renewSlots(base, now, step)
  else id, next = acquireSlots(base, now, used, step) end
  local taken, kept = next, state
  if state == nil and id == 0 then taken = nil end
  if state ~= nil then kept = base end
  return used + step.check <= step.limit, base, next, taken, kept, id
end

kernels.slots = {
  owns = function(state) return type(state) == 'table' and state.slots ~= nil end,
  adopt = function() return nil end,
  step = slots,
  report = function(reply, place, now, step, base, next, written, id)
    reply[place], reply[place + 1] = usedIn((written and next or base).slots, now), written and id or 0
    return place + 2
  end,
  encode = function(state)
    local list = { state.last }
    for i = 1, #state.slots do list[i + 1] = state.slots[i] end
    return 's' .. cmsgpack.pack(list)
  end,
  emptyAt = function(state)
    local at = state.last
    for i = 2, #state.slots, 2 do at = max(at, state.slots[i]) end
    return at
  end,
}
`
