// Feeds recorded events to policies, one at a time.
#pragma once

#include <optional>
#include <string>

#include "policies/sync/policy.hpp"
#include "policies/vocabulary/replay.hpp"

namespace tandem::sync {

/// The policy's decisions on an event.
ServerDecisions decide(ServerPolicy& policy, const ServerEvent& event);

/// The policy's decision at the begin of a step.
StepBeginDecision decide(WorkerPolicy& policy, const StepBegin& event);
/// The policy's decision on any event, as text; empty for an event without a decision.
std::string decide_in_words(WorkerPolicy& policy, const WorkerEvent& event);

using tandem::restore_event;
using tandem::restored_state;

/// The record in decisions.csv of the begin of a new policy, in a generation of the job with other workers
/// than the job: "begin workers=2 index=1". `index`: of the worker among these; of a server, 0.
struct Begun {
  int workers = 0;
  int index = 0;
};
std::string begin_event(const Begun& begun);
/// None if the text is another event. Errors: ConfigError for a part that cannot be read.
std::optional<Begun> begun_in(const std::string& event);

}  // namespace tandem::sync
