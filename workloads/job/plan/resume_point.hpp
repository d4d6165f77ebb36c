// The checkpoint of another result directory from which a job is resumed. Plain data with a JSON form;
// workloads/checkpoint/ handles the contents of the files.
#pragma once

#include <algorithm>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "policies/sampling/deals.hpp"

namespace tandem {

struct ResumePoint {
  std::string directory;   ///< result directory of the interrupted job, absolute
  std::int64_t round = 0;  ///< of the checkpoint
  /// Every worker has finished that round and continues from its own state. Otherwise each worker starts a
  /// new step from the checkpoint's model.
  bool workers_continue = false;
  /// The servers' policies continue from their state; otherwise they are new.
  bool policies_continue = false;
  /// Number of workers of the interrupted job, if this job has another number; 0: the same. Each worker
  /// continues from the common state of workers. Workers of the interrupted job also continue from their own
  /// state.
  int former_workers = 0;
  /// Number of workers to which learning rate and batch refer, if it is not that of this job; 0: it is.
  int all_workers = 0;
  /// Indices of the workers that wrote the commit, if others were absent; empty: all wrote it. An absent
  /// worker continues from the common state of all, which the first of these has.
  std::vector<int> members = {};
  /// The directory of its model, if that is not in `directory` but on the disk of one machine.
  std::string model_directory = {};
  /// How samples were dealt before this job dealt them to its workers, the oldest first; empty: never.
  std::vector<sampling::Deal> deals = {};
  /// The samples that the workers of the checkpoint had left are dealt to the workers of this job, because
  /// workers had left or joined before. The new workers have taken none since.
  bool deals_anew = false;
  /// Why later checkpoints cannot be used, one text for each; for the user only, not in the JSON form.
  std::vector<std::string> passed_over = {};

  bool has_state_of(int worker) const {
    return members.empty() || std::ranges::find(members, worker) != members.end();
  }
  /// Sets the deals before the job that wrote the checkpoint, unless that job has dealt again itself.
  void continue_after(const std::vector<sampling::Deal>& earlier) {
    if (!deals_anew) deals = earlier;
  }
  /// The first worker with a state.
  int first_member() const { return members.empty() ? 0 : members.front(); }
};

nlohmann::json to_json(const ResumePoint& point);
/// Inverse of to_json.
ResumePoint resume_point_from_json(const nlohmann::json& document);

/// The same of deals alone.
nlohmann::json to_json(const std::vector<sampling::Deal>& deals);
std::vector<sampling::Deal> deals_from_json(const nlohmann::json& document);

/// Path of the model taken after `round`.
std::string checkpoint_path(const std::string& directory, std::int64_t round);
/// Path of the model of that checkpoint.
std::string model_path(const ResumePoint& point);

}  // namespace tandem
