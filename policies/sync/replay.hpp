// Feeds recorded events to policies, one at a time.
#pragma once

#include <optional>
#include <string>

#include "policies/sync/policy.hpp"

namespace tandem::sync {

/// The policy's decisions on an event.
ServerDecisions decide(ServerPolicy& policy, const ServerEvent& event);

/// The policy's decision as a step begins.
StepBeginDecision decide(WorkerPolicy& policy, const StepBegin& event);
/// The policy's decision on any event, as text; empty for an event without a decision.
std::string decide_in_words(WorkerPolicy& policy, const WorkerEvent& event);

/// How decisions.csv and event logs record that a resumed job restored a policy: "restore version=7 ...".
std::string restore_event(const std::string& state);
/// The state in such a record; none if the text is another event.
std::optional<std::string> restored_state(const std::string& event);

/// How decisions.csv records that a new policy decides, where a generation of the job has other workers than
/// the job: "begin workers=2 index=1". `index`: of the worker among these; of a server, 0.
struct Begun {
  int workers = 0;
  int index = 0;
};
std::string begin_event(const Begun& begun);
/// None if the text is another event. Errors: ConfigError for a part that cannot be read.
std::optional<Begun> begun_in(const std::string& event);

}  // namespace tandem::sync
