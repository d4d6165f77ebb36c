#include "workloads/job/resume_point.hpp"

#include <fmt/format.h>

namespace tandem {

nlohmann::json to_json(const ResumePoint& point) {
  return {{"directory", point.directory},
          {"round", point.round},
          {"workers_remember", point.workers_remember},
          {"policies_remember", point.policies_remember}};
}

ResumePoint resume_point_from_json(const nlohmann::json& document) {
  ResumePoint point;
  document.at("directory").get_to(point.directory);
  document.at("round").get_to(point.round);
  document.at("workers_remember").get_to(point.workers_remember);
  document.at("policies_remember").get_to(point.policies_remember);
  return point;
}

std::string checkpoint_path(const std::string& directory, std::int64_t round) {
  return fmt::format("{}/checkpoints/round_{:08}.pt", directory, round);
}

}  // namespace tandem
