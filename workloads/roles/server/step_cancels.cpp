#include "workloads/roles/server/step_cancels.hpp"

#include "workloads/protocol.hpp"

namespace tandem {

StepCancels::StepCancels(Context& context, std::span<const Rank> workers, bool is_used) : context_(context) {
  if (!is_used) return;
  for (const Rank rank : workers) lines_.push_back({.rank = rank, .sends = OpenSends(context)});
}

/// A worker learns of it when it looks, so the server does not wait for the last one.
void StepCancels::cancel(int worker, int version) {
  if (lines_.empty() || version == line(worker).version) return;
  Line& to = line(worker);
  to.version = version;
  to.sends.add(protocol::send<"cancels">(context_, to.rank, protocol::Cancel{.version = version}));
}

void StepCancels::forget(int worker) {
  if (!lines_.empty()) line(worker).version = -1;
}

void StepCancels::finish() {
  for (Line& each : lines_) each.sends.finish();
}

}  // namespace tandem
