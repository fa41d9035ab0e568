-- Health check of a ClusterControllerResilience for Argo CD. It runs without the standard libraries of Lua, as every script in argocd-cm does.
-- It evaluates the conditions of the operator (docs/cluster-wide.md). Covered is about workloads that the object does not select, so it counts for nothing here.

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
local stalled = conditions.Stalled or {}

if ready.reason == "Suspended" then
  return say("Suspended", ready, "spec.suspend is true")
end
if stalled.status == "True" then
  return say("Degraded", stalled, "A person is needed")
end
if ready.status == "True" then
  return say("Healthy", ready, "Every selected workload is protected")
end
if ready.reason == "ObjectsNotReady" then
  return say("Degraded", ready, "A generated object is not Ready")
end
-- Progressing, or TargetNotFound: the namespaces may come later.
return say("Progressing", ready, "The operator is at work")
