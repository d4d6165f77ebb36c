// What SimGrid's activities call when they end.
#pragma once

namespace tandem::sim {

/// Receives the end of a SimGrid activity; stored as the activity's user data.
class Finishable {
 public:
  virtual ~Finishable() = default;
  /// Called in kernel context at the simulated end; `succeeded` is false when a host or link went down.
  virtual void finish(bool succeeded) = 0;
};

}  // namespace tandem::sim
