#include "workloads/job/plan/generation.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <system_error>

#include "workloads/files/whole_file.hpp"

namespace tandem {
namespace {

using nlohmann::json;

json to_json(const EndedGeneration& ended) {
  json document = {{"began_s", ended.began ? json(ended.began->count()) : json()},
                   {"launched_s", ended.launched.count()},
                   {"round", ended.round},
                   {"ended", ended.reason}};
  if (ended.lost_samples) document["lost_samples"] = *ended.lost_samples;
  if (!ended.slots.empty()) document["slots"] = ended.slots;
  if (!ended.deals.empty()) document["deals"] = tandem::to_json(ended.deals);
  if (ended.lost_commit) document["lost_commit"] = *ended.lost_commit;
  if (!ended.died_on.empty()) document["died_on"] = ended.died_on;
  return document;
}

EndedGeneration ended_from_json(const json& document) {
  EndedGeneration ended;
  if (const auto& began = document.at("began_s"); !began.is_null())
    ended.began = Seconds(began.get<double>());
  ended.launched = Seconds(document.at("launched_s").get<double>());
  document.at("round").get_to(ended.round);
  document.at("ended").get_to(ended.reason);
  if (document.contains("lost_samples")) ended.lost_samples = document["lost_samples"].get<std::int64_t>();
  ended.slots = document.value("slots", std::vector<int>());
  if (document.contains("deals")) ended.deals = deals_from_json(document["deals"]);
  if (document.contains("lost_commit")) ended.lost_commit = document["lost_commit"].get<std::int64_t>();
  ended.died_on = document.value("died_on", "");
  return ended;
}

json to_json(const MembershipRecord& change) {
  return {{"time_s", change.time.count()}, {"slot", change.slot},   {"incarnation", change.incarnation},
          {"host", change.host},           {"event", change.event}, {"cause", change.cause},
          {"view", change.view},           {"role", change.role}};
}

MembershipRecord change_from_json(const json& document) {
  MembershipRecord change{.time = Seconds(document.at("time_s").get<double>())};
  document.at("slot").get_to(change.slot);
  document.at("incarnation").get_to(change.incarnation);
  document.at("host").get_to(change.host);
  document.at("event").get_to(change.event);
  document.at("cause").get_to(change.cause);
  document.at("view").get_to(change.view);
  document.at("role").get_to(change.role);
  return change;
}

json to_json(const PartMove& move) {
  return {{"role", role_name(move.part.role)},
          {"index", move.part.index},
          {"from", move.part.host},
          {"to", move.to}};
}

PartMove move_from_json(const json& document) {
  using Role = RankAssignment::Role;
  const auto name = document.at("role").get<std::string>();
  Role role = Role::worker;
  for (const Role other : {Role::server, Role::coordinator})
    if (name == role_name(other)) role = other;
  return {{role, document.at("index").get<int>(), document.at("from").get<std::string>()},
          document.at("to").get<std::string>()};
}

json to_json(const TimedDecision& decided) {
  const DecisionRecord& record = decided.record;
  return {{"at_s", decided.at.count()},
          {"rank", record.rank},
          {"side", record.side},
          {"event", record.event},
          {"decisions", record.decisions}};
}

TimedDecision decision_from_json(const json& document) {
  return {Seconds(document.at("at_s").get<double>()),
          {document.at("rank").get<Rank>(), document.at("side").get<std::string>(),
           document.at("event").get<std::string>(), document.at("decisions").get<std::string>()}};
}

json to_json(const DrawnWarning& warning) {
  return {{"at_s", warning.at.count()}, {"departs_s", warning.departs.count()}, {"slot", warning.slot}};
}

DrawnWarning warning_from_json(const json& document) {
  return {Seconds(document.at("at_s").get<double>()), Seconds(document.at("departs_s").get<double>()),
          document.at("slot").get<int>()};
}

template <class Records>
json list_of(const Records& records) {
  json list = json::array();
  for (const auto& record : records) list.push_back(to_json(record));
  return list;
}

}  // namespace

json to_json(const Generation& generation) {
  json document = {{"first_start_s", generation.first_start_s},
                   {"launched_s", generation.launched.count()},
                   {"ended", list_of(generation.ended)},
                   {"continues", generation.continues}};
  if (!generation.membership.empty()) document["membership"] = list_of(generation.membership);
  if (!generation.decisions.empty()) document["decisions"] = list_of(generation.decisions);
  if (!generation.warnings.empty()) document["warnings"] = list_of(generation.warnings);
  if (!generation.moves.empty()) document["moves"] = list_of(generation.moves);
  if (generation.origin) document["origin"] = to_json(*generation.origin);
  if (!generation.hosts.empty()) document.update({{"hosts", generation.hosts}, {"slots", generation.slots}});
  return document;
}

Generation generation_from_json(const json& document) {
  Generation generation;
  document.at("first_start_s").get_to(generation.first_start_s);
  generation.launched = Seconds(document.at("launched_s").get<double>());
  for (const auto& one : document.at("ended")) generation.ended.push_back(ended_from_json(one));
  document.at("continues").get_to(generation.continues);
  for (const auto& change : document.value("membership", json::array()))
    generation.membership.push_back(change_from_json(change));
  for (const auto& decided : document.value("decisions", json::array()))
    generation.decisions.push_back(decision_from_json(decided));
  for (const auto& warning : document.value("warnings", json::array()))
    generation.warnings.push_back(warning_from_json(warning));
  for (const auto& move : document.value("moves", json::array()))
    generation.moves.push_back(move_from_json(move));
  if (document.contains("origin")) generation.origin = resume_point_from_json(document["origin"]);
  generation.hosts = document.value("hosts", std::vector<std::string>());
  generation.slots = document.value("slots", std::vector<int>());
  return generation;
}

std::vector<int> slots_of(const Generation& generation, int number) {
  const bool has_ended = number < generation.number();
  std::vector<int> slots =
      has_ended ? generation.ended[static_cast<std::size_t>(number)].slots : generation.slots;
  if (!slots.empty()) return slots;
  slots.resize(generation.hosts.size());
  std::iota(slots.begin(), slots.end(), 0);
  return slots;
}

std::vector<LaunchRecord> describe_generations(const Generation& generation, std::int64_t round) {
  std::vector<LaunchRecord> all;
  for (const auto& one : generation.ended)
    all.push_back({.launched = one.launched,
                   .began = one.began,
                   .round = one.round,
                   .ended = one.reason,
                   .slots = one.slots,
                   .lost_samples = one.lost_samples,
                   .lost_commit = one.lost_commit});
  all.push_back({.launched = generation.launched, .began = generation.began, .round = round});
  for (std::size_t number = 0; number < all.size(); ++number) {
    LaunchRecord& one = all[number];
    one.number = static_cast<std::int64_t>(number);
    if (generation.hosts.empty()) continue;
    one.slots = slots_of(generation, static_cast<int>(number));
    one.workers = static_cast<int>(one.slots.size());
  }
  return all;
}

std::string start_path(const std::string& directory, int generation) {
  return fmt::format("{}/checkpoints/round_{:08}.generation_{}.start", directory, 0, generation);
}

std::optional<double> start_in(const std::string& directory, int generation) {
  std::ifstream file(start_path(directory, generation));
  double start_s = 0.0;
  if (!(file >> start_s)) return std::nullopt;
  return start_s;
}

void write_start(const std::string& directory, int generation, double start_s) {
  const std::string path = start_path(directory, generation);
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  write_own_file(path, fmt::format("{:.6f}\n", start_s));
}

}  // namespace tandem
