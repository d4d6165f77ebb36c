// How the launch of one generation ended.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "workloads/context.hpp"
#include "workloads/job/plan/resume_point.hpp"
#include "workloads/membership/restart_steward.hpp"

namespace tandem {

struct GenerationResult {
  enum class End {
    success,
    environment_error,  ///< of a rank, or a machine is lost: a reason to start again
    error,              ///< another error, which would come again
    signal              ///< to this process
  };
  End end = End::success;
  int signal = 0;
  std::string message;           ///< empty on success
  Rank failed_rank = -1;         ///< -1: none, or unknown
  bool is_death = false;         ///< of a rank or a machine, without an error that a rank could report
  bool was_planned = false;      ///< the death was requested of this launch
  std::vector<Rank> lost_ranks;  ///< ranks on a lost machine
  /// The drawn departure or arrival of a machine that ended the generation.
  std::optional<RestartSteward::End> drawn = {};
  std::optional<std::int64_t> lost_samples = {};  ///< of steps that are done again; none: not known
  std::optional<std::int64_t> lost_commit = {};   ///< as EndedGeneration::lost_commit

  /// Machines were lost: the job would have started again from `before`, and now starts from `after`.
  void note_loss(const std::optional<ResumePoint>& before, const std::optional<ResumePoint>& after) {
    if (!before || (after && after->round >= before->round)) return;
    lost_commit = std::max(lost_commit.value_or(0), before->round);
  }
};

}  // namespace tandem
