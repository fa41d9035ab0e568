-- Health of a ControllerResilience, for Argo CD. It runs without Lua's standard libraries, as a script in argocd-cm does.
-- The operator says what it found in conditions (docs/api.md): Ready, and, abnormal when True, Reconciling and Stalled.

-- Objects may be applied before what they are about: that is no failure, or a sync would end at it.
local notYet = { TargetNotFound = true, BindingNotFound = true }

-- mode: Observe writes nothing, so this waits for a person, and nothing is wrong. A dead token or a binding that is due is wrong in any mode.
local heldBack = { WouldChange = true, WouldIsolate = true }

-- True is abnormal of these; of all others it is good.
local abnormal = { Reconciling = true, Stalled = true }

local function say(status, condition, otherwise)
  return { status = status, message = condition.message or otherwise }
end

local metadata = obj.metadata or {}
local status = obj.status or {}

-- What status says of an older generation says nothing of this one.
if status.observedGeneration == nil or status.observedGeneration ~= metadata.generation then
  return say("Progressing", {}, "Waiting for the operator to look at this object")
end

local conditions = {}
for _, condition in ipairs(status.conditions or {}) do
  if condition.type ~= nil then
    conditions[condition.type] = condition
  end
end
local ready = conditions.Ready or {}
local reconciling = conditions.Reconciling or {}
local stalled = conditions.Stalled or {}

if ready.reason == "Suspended" then
  return say("Suspended", ready, "spec.suspend is true")
end
if stalled.status == "True" then
  return say("Degraded", stalled, "A person is needed")
end
if reconciling.status == "True" then
  return say("Progressing", reconciling, "The operator is at work")
end
-- Ready has the reason of the first remedy that does not hold, and a milder one may come first.
for _, condition in ipairs(status.conditions or {}) do
  local mild = abnormal[condition.type] or heldBack[condition.reason] or notYet[condition.reason]
  if condition.status == "False" and not mild then
    return say("Degraded", condition, "A remedy does not hold")
  end
end
if ready.status == "True" then
  return say("Healthy", ready, "Every remedy that is on holds")
end
if ready.status == "False" and heldBack[ready.reason] then
  return say("Suspended", ready, "spec.mode is Observe")
end
return say("Progressing", ready, "The operator can't tell yet")
