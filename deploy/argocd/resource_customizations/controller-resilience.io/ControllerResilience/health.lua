-- Health check of a ControllerResilience for Argo CD. It runs without the standard libraries of Lua, as every script in argocd-cm does.
-- It evaluates the conditions of the operator (docs/api.md): Ready, and the negative conditions Reconciling and Stalled.

-- An object may be applied before its targets. This is no failure; otherwise a sync would fail here.
local notYet = { TargetNotFound = true }

-- The operator waits for a person who ends mode: Observe, for a maintenance window, or for pods of a DaemonSet, and nothing is wrong. A rejected
-- token or a due binding is wrong in any case.
local heldBack = { WouldChange = true, WouldIsolate = true, WaitingForWindow = true, Waiting = true }

-- Conditions with negative polarity: True is abnormal. For every other condition True is good.
local abnormal = { Reconciling = true, Stalled = true }

local function say(status, condition, otherwise)
  return { status = status, message = condition.message or otherwise }
end

local metadata = obj.metadata or {}
local status = obj.status or {}

-- A status of an older generation does not describe this one.
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
-- Ready has the reason of the first remedy that is not True; a later remedy may have a more severe reason.
for _, condition in ipairs(status.conditions or {}) do
  local waits = heldBack[condition.reason] and condition.type ~= "TokensAccepted"
  local mild = abnormal[condition.type] or waits or notYet[condition.reason]
  if condition.status == "False" and not mild then
    return say("Degraded", condition, "A remedy does not hold")
  end
end
if ready.status == "True" then
  return say("Healthy", ready, "All remedies report True")
end
if ready.status == "False" and heldBack[ready.reason] then
  return say("Suspended", ready, "Something that is not urgent is held back")
end
return say("Progressing", ready, "The operator can't tell yet")
