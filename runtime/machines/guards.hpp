// A process on every machine of a running job, which is asked again and again. A machine that does not answer
// is lost; a process that is not asked any more ends the ranks of its machine.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "policies/vocabulary/units.hpp"
#include "runtime/machines/agent.hpp"

namespace tandem::machines {

struct GuardSetting {
  std::vector<std::string> machines;
  Agent agent;
  std::string program;  ///< path of tandem-rank, on every machine
  std::string mark;     ///< variable of the ranks' environment, "NAME=VALUE"
  Seconds limit{4.0};   ///< without an answer
};

class Guards {
 public:
  /// A machine from which no answer comes.
  struct Lost {
    std::string machine;
    std::string reason;
  };

  explicit Guards(GuardSetting setting);
  /// Ends all ranks that are left on the machines.
  ~Guards();
  Guards(const Guards&) = delete;
  Guards& operator=(const Guards&) = delete;

  /// The first that was lost; empty: all answer.
  std::optional<Lost> lost() const;

 private:
  void watch(const std::string& machine);
  /// False when the guards are to end.
  bool wait(Seconds duration);
  void lose(const std::string& machine, const std::string& reason);

  GuardSetting setting_;
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  bool is_ending_ = false;
  std::optional<Lost> lost_;
  std::vector<std::thread> threads_;  ///< last, since they use the others
};

/// The process on a machine: answers each line of standard input. When none comes for `limit`, or at its end,
/// it kills all processes with the mark.
void guard_machine(const std::string& mark, Seconds limit);

}  // namespace tandem::machines
