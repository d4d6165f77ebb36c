#include "workloads/job/plan/resume_point.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace tandem {

nlohmann::json to_json(const ResumePoint& point) {
  nlohmann::json document = {{"directory", point.directory},
                             {"round", point.round},
                             {"workers_continue", point.workers_continue},
                             {"policies_continue", point.policies_continue}};
  if (point.former_workers > 0) document["former_workers"] = point.former_workers;
  if (point.all_workers > 0) document["all_workers"] = point.all_workers;
  if (!point.members.empty()) document["members"] = point.members;
  if (!point.model_directory.empty()) document["model_directory"] = point.model_directory;
  if (!point.deals.empty()) document["deals"] = to_json(point.deals);
  if (point.deals_anew) document["deals_anew"] = true;
  return document;
}

ResumePoint resume_point_from_json(const nlohmann::json& document) {
  ResumePoint point;
  document.at("directory").get_to(point.directory);
  document.at("round").get_to(point.round);
  document.at("workers_continue").get_to(point.workers_continue);
  document.at("policies_continue").get_to(point.policies_continue);
  point.former_workers = document.value("former_workers", 0);
  point.all_workers = document.value("all_workers", 0);
  point.model_directory = document.value("model_directory", "");
  if (document.contains("members")) document["members"].get_to(point.members);
  point.deals_anew = document.value("deals_anew", false);
  if (document.contains("deals")) point.deals = deals_from_json(document["deals"]);
  return point;
}

nlohmann::json to_json(const std::vector<sampling::Deal>& deals) {
  nlohmann::json document = nlohmann::json::array();
  for (const auto& deal : deals) {
    nlohmann::json& one = document.emplace_back();
    one = {{"workers", deal.workers}, {"taken", deal.taken}};
    for (const auto& back : deal.returned)
      one["returned"].push_back({back.deal, back.place, back.first, back.count});
  }
  return document;
}

std::vector<sampling::Deal> deals_from_json(const nlohmann::json& document) {
  std::vector<sampling::Deal> deals;
  for (const auto& deal : document) {
    auto& one = deals.emplace_back();
    deal.at("workers").get_to(one.workers);
    deal.at("taken").get_to(one.taken);
    for (const auto& back : deal.value("returned", nlohmann::json::array()))
      one.returned.push_back({back.at(0).get<std::int64_t>(), back.at(1).get<std::int64_t>(),
                              back.at(2).get<std::int64_t>(), back.at(3).get<std::int64_t>()});
  }
  return deals;
}

std::string checkpoint_path(const std::string& directory, std::int64_t round) {
  return fmt::format("{}/checkpoints/round_{:08}.pt", directory, round);
}

std::string model_path(const ResumePoint& point) {
  return checkpoint_path(point.model_directory.empty() ? point.directory : point.model_directory,
                         point.round);
}

}  // namespace tandem
