#include "workloads/job/resume_point.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace tandem {

nlohmann::json to_json(const ResumePoint& point) {
  return {{"directory", point.directory},
          {"round", point.round},
          {"workers_continue", point.workers_continue},
          {"policies_continue", point.policies_continue}};
}

ResumePoint resume_point_from_json(const nlohmann::json& document) {
  ResumePoint point;
  document.at("directory").get_to(point.directory);
  document.at("round").get_to(point.round);
  document.at("workers_continue").get_to(point.workers_continue);
  document.at("policies_continue").get_to(point.policies_continue);
  return point;
}

std::string checkpoint_path(const std::string& directory, std::int64_t round) {
  return fmt::format("{}/checkpoints/round_{:08}.pt", directory, round);
}

}  // namespace tandem
