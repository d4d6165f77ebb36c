// The checkpoint of another result directory from which a job is resumed. Plain data with a JSON form; the
// contents of the files are the business of workloads/checkpoint/.
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
  /// Every worker has finished that round and continues from its own state. Otherwise each starts a new step
  /// from the checkpoint's model.
  bool workers_continue = false;
  /// The servers' policies continue from their state; otherwise they are new.
  bool policies_continue = false;
  /// Workers of the interrupted job, where this one has another number of them; 0: as many. Each continues
  /// from what workers have in common, and those that the interrupted job had too also from what is their
  /// own.
  int former_workers = 0;
  /// Number of workers to which learning rate and batch refer, if it is not that of this job; 0: it is.
  int all_workers = 0;
  /// Of the workers that wrote the commit, the indices, where others of the job were absent; empty: all did.
  /// An absent one continues from what the first of these has in common with all.
  std::vector<int> members = {};
  /// The directory of its model, where that is not in `directory` but on the disk of one machine.
  std::string model_directory = {};
  /// How samples were dealt before this job dealt them to its workers, the oldest first; empty: never.
  std::vector<sampling::Deal> deals = {};
  /// With the checkpoint, the samples that its workers had left are dealt to those of this job, who have
  /// taken none since: workers had left or joined before.
  bool deals_anew = false;
  /// Why later checkpoints cannot be used, one text for each; for the user only, not in the JSON form.
  std::vector<std::string> passed_over = {};

  bool has_state_of(int worker) const {
    return members.empty() || std::ranges::find(members, worker) != members.end();
  }
  /// Sets the deals before the job that wrote it, unless that has dealt anew itself.
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
