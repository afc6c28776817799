/**
 * The slots kernel in Lua: the arithmetic of `kernels/slots.ts` of core. A state is a list: the highest number of a slot, the longest
 * `ttl`, 0, and the number and the end of each. It has an odd length, and a log an even one.
 */
export const slotsLua = /* lua */ `
local function usedIn(slots, now)
  local used = 0
  for i = 5, #slots, 2 do
    if slots[i] > now then used = used + 1 end
  end
  return used
end

local function heldFrom(slots, now, ttl)
  local held, isAhead, last = { slots[1], slots[2], 0 }, false, now + max(slots[2], ttl)
  for i = 4, #slots, 2 do
    local ends = slots[i + 1]
    isAhead = isAhead or ends > last
    held[i], held[i + 1] = slots[i], min(ends, last)
  end
  return isAhead and held or slots
end

local function acquireSlots(base, now, used, step)
  local count = min(step.increment, max(step.limit - used, 0))
  if count == 0 then return 0, base end
  local first = max(now, base[1] + 1)
  local slots = { first + count - 1, step.ttl, 0 }
  for i = 4, #base, 2 do
    if base[i + 1] > now then
      slots[#slots + 1] = base[i]
      slots[#slots + 1] = base[i + 1]
    end
  end
  if #slots > 3 then slots[2] = max(base[2], step.ttl) end
  for i = 0, count - 1 do
    slots[#slots + 1] = first + i
    slots[#slots + 1] = now + step.ttl
  end
  return first, slots
end

local function renewSlots(base, now, step)
  local slots, id = { base[1], max(base[2], step.ttl), 0 }, 0
  for i = 4, #base, 2 do
    local each, ends = base[i], base[i + 1]
    if each >= step.id and each < step.id + step.increment then id, ends = step.id, now + step.ttl end
    slots[i], slots[i + 1] = each, ends
  end
  return id, id > 0 and slots or base
end

local function releaseSlots(base, step)
  local from, to = step.id, step.id - step.increment
  if from == 0 then from, to = base[max(#base - 3 + 2 * step.increment, 0) + 4] or 0, base[1] + 1 end
  local left = { base[1], base[2], 0 }
  for i = 4, #base, 2 do
    if base[i] < from or base[i] >= to then
      left[#left + 1] = base[i]
      left[#left + 1] = base[i + 1]
    end
  end
  if #left == #base then return 0, base end
  return from, left
end

local function slots(state, now, step)
  local base = heldFrom(state or { 0, 0, 0 }, now, step.ttl)
  local used = usedIn(base, now)
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
  owns = function(state) return type(state) == 'table' and #state % 2 == 1 end,
  adopt = function() return nil end,
  step = slots,
  report = function(reply, place, now, step, base, next, written, id)
    reply[place], reply[place + 1] = usedIn(written and next or base, now), written and id or 0
    return place + 2
  end,
  encode = function(state) return 'l' .. cmsgpack.pack(state) end,
  emptyAt = function(state)
    local at = state[1]
    for i = 5, #state, 2 do at = max(at, state[i]) end
    return at
  end,
}
`
