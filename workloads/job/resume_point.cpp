#include "workloads/job/resume_point.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace tandem {

nlohmann::json to_json(const ResumePoint& point) {
  nlohmann::json document = {{"directory", point.directory},
                             {"round", point.round},
                             {"workers_continue", point.workers_continue},
                             {"policies_continue", point.policies_continue}};
  if (point.former_workers > 0) document["former_workers"] = point.former_workers;
  if (!point.model_directory.empty()) document["model_directory"] = point.model_directory;
  for (const auto& deal : point.deals)
    document["deals"].push_back({{"workers", deal.workers}, {"taken", deal.taken}});
  return document;
}

ResumePoint resume_point_from_json(const nlohmann::json& document) {
  ResumePoint point;
  document.at("directory").get_to(point.directory);
  document.at("round").get_to(point.round);
  document.at("workers_continue").get_to(point.workers_continue);
  document.at("policies_continue").get_to(point.policies_continue);
  point.former_workers = document.value("former_workers", 0);
  point.model_directory = document.value("model_directory", "");
  if (document.contains("deals"))
    for (const auto& deal : document["deals"])
      point.deals.push_back({.workers = deal.at("workers").get<int>(),
                             .taken = deal.at("taken").get<std::vector<std::int64_t>>()});
  return point;
}

std::string checkpoint_path(const std::string& directory, std::int64_t round) {
  return fmt::format("{}/checkpoints/round_{:08}.pt", directory, round);
}

std::string model_path(const ResumePoint& point) {
  return checkpoint_path(point.model_directory.empty() ? point.directory : point.model_directory,
                         point.round);
}

}  // namespace tandem
