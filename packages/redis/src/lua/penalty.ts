/** The penalty kernel in Lua: the arithmetic of `kernels/penalty.ts` of core. */
export const penaltyLua: string = /* lua */ `
local function movedPenalty(state, back) return state.level > 0 and state.last - back or 0 end

local function foundPenalty(state, now, step)
  if state == nil then return { writtenAt = now, first = now, count = 0, ['until'] = 0, level = 0, last = 0 } end
  local back = max(state.writtenAt - now, 0)
  local first = state.first - back
  local ends = state['until'] > 0 and state['until'] - back or 0
  if ends > now then
    return { writtenAt = now, first = first, count = state.count, ['until'] = ends, level = state.level, last = movedPenalty(state, back) }
  end
  local level = ends > 0 and state.level + 1 or state.level
  local last = ends > 0 and ends or movedPenalty(state, back)
  local isOver = ends > 0 or state.count == 0 or now - first >= step.window
  local isForgiven = level == 0 or now - last >= step.forgive
  return {
    writtenAt = now, first = isOver and now or first, count = isOver and 0 or state.count, ['until'] = 0,
    level = isForgiven and 0 or level, last = isForgiven and 0 or last,
  }
end

local function lengthOf(step, level)
  local length, i = step.block, 0
  while i < level and length < step.max do
    length, i = min(length * step.grow, step.max), i + 1
  end
  return length
end

local function withPenalty(base, count, ends)
  return { writtenAt = base.writtenAt, first = base.first, count = count, ['until'] = ends, level = base.level, last = base.last }
end

local function extendedPenalty(base, step)
  if not step.extend or base['until'] == 0 then return base end
  return withPenalty(base, base.count, max(base['until'], base.writtenAt + lengthOf(step, base.level)))
end

local function takePenalty(base, step)
  local count = min(base.count + step.increment, ${2 ** 50})
  if count < step.limit then return withPenalty(base, count, base['until']) end
  return withPenalty(base, count, max(base['until'], base.writtenAt + lengthOf(step, base.level)))
end

local function refundPenalty(base, step)
  local give = (step.since == 0 or step.since == base.first) and min(-step.increment, base.count) or 0
  local count = base.count - give
  return withPenalty(base, count, give > 0 and count < step.limit and 0 or base['until'])
end

local function penalty(state, now, step)
  local base = extendedPenalty(foundPenalty(state, now, step), step)
  local used = base['until'] > 0 and max(base.count, step.limit) or base.count
  local next = step.increment < 0 and refundPenalty(base, step) or takePenalty(base, step)
  local isMoved = state ~= nil and (state.writtenAt > now or step.extend and base['until'] > 0)
  local taken, kept = next, state
  if isMoved then kept = base end
  if step.increment == 0 or state == nil and step.increment < 0 then taken = kept end
  return used + step.check <= step.limit, base, next, taken, kept
end

kernels.penalty = {
  owns = function(state) return type(state) == 'table' and state.level ~= nil end,
  adopt = function(state, now, step, _, countedBy)
    local count, first = countedBy(state, now, step.limit, step.window)
    return count > 0 and { writtenAt = now, first = first, count = count, ['until'] = 0, level = 0, last = 0 } or nil
  end,
  step = penalty,
  report = function(reply, place, now, step, base, next, written)
    local state = written and next or base
    local ends = state['until']
    reply[place], reply[place + 1], reply[place + 2] = state.first - now, state.count, ends > 0 and ends - now or 0
    reply[place + 3], reply[place + 4] = state.level, state.level > 0 and now - state.last or 0
    return place + 5
  end,
  encode = function(state)
    return format('p:%.0f:%.0f:%.0f:%.0f:%.0f:%.0f', state.writtenAt, state.first, state.count, state['until'], state.level, state.last)
  end,
  emptyAt = function(state, step)
    if state['until'] > 0 then return state['until'] + step.forgive end
    return state.level > 0 and max(state.last + step.forgive, state.first + step.window) or state.first + step.window
  end,
}
`
