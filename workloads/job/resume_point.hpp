// From where a job goes on that was ended before: a checkpoint in another result directory. Plain data with a
// JSON form; what is in the files, workloads/roles/ know.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace tandem {

struct ResumePoint {
  std::string directory;   ///< result directory of the job that goes on, absolute
  std::int64_t round = 0;  ///< of the checkpoint
  /// Each worker has ended that round and goes on from what it remembers of it. Otherwise workers take a
  /// fresh step from the checkpoint's model.
  bool workers_remember = false;
  /// The servers' policies are as they were; else fresh.
  bool policies_remember = false;
};

nlohmann::json to_json(const ResumePoint& point);
/// Inverse of to_json.
ResumePoint resume_point_from_json(const nlohmann::json& document);

/// Path of the model taken after `round`.
std::string checkpoint_path(const std::string& directory, std::int64_t round);

}  // namespace tandem
