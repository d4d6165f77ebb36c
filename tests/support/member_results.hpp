// Adds machines that depart and arrive to results.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "workloads/records/result_directory.hpp"

namespace tandem::testing {

using MemberRows = std::vector<MembershipRecord>;

/// One row of a slot on host lab-1, lab-2, ...
inline MembershipRecord member_row(double time_s, int slot, std::int64_t incarnation,
                                   const std::string& event, const std::string& cause = "") {
  return {.time = Seconds(time_s),
          .slot = slot,
          .incarnation = incarnation,
          .host = "lab-" + std::to_string(slot + 1),
          .event = event,
          .cause = cause};
}

/// Four slots. In slot 2 a machine is lost after a second, and another one takes its place after 1.5 s; that
/// of slot 3 is warned and revoked after 2 s. `late_s`: by how much later all but the departures is recorded.
inline MemberRows two_departures(double late_s = 0) {
  MemberRows rows;
  for (int slot = 0; slot < 4; ++slot) rows.push_back(member_row(0, slot, 1, "joined"));
  const auto add = [&](double time_s, auto... what) { rows.push_back(member_row(time_s, what...)); };
  add(1.0, 2, 1, "departed", "lost");
  add(1.02 + late_s, 2, 1, "gone");
  add(1.1 + late_s, 2, 1, "noticed", "lost");
  add(1.1 + late_s, 2, 1, "requested");
  add(1.5, 2, 2, "ready");
  add(1.5 + late_s, 2, 2, "joined");
  add(1.8, 3, 1, "warned");
  add(2.0, 3, 1, "departed", "revoked");
  add(2.0 + late_s, 3, 1, "noticed", "revoked");
  add(2.05 + late_s, 3, 1, "gone");
  return rows;
}

/// `generations` of run.json: the second launch fails before its ranks are ready; those of the third are
/// after 0.25 s. `late_s`: by how much later they are.
inline std::vector<LaunchRecord> three_launches(double late_s = 0) {
  return {{.number = 0,
           .launched = Seconds(0),
           .began = Seconds(0),
           .round = 0,
           .ended = "the machine of worker 2 on 'lab-3' departed (lost)"},
          {.number = 1,
           .launched = Seconds(1.5),
           .round = 50,
           .ended = "the machine of worker 3 on 'lab-4' departed (revoked)"},
          {.number = 2, .launched = Seconds(2), .began = Seconds(2.25 + late_s), .round = 50}};
}

/// The results as those of a job whose machines may depart. `accepted`: samples that waited for an update.
inline void set_members(Results& results, MemberRows rows, std::int64_t accepted = 0) {
  auto& info = results.info;
  info.experiment.transience.lifetime = "exponential";
  info.experiment.transience.options = {{"mean", 100.0}};
  info.experiment.recovery.policy = "replace";
  info.zones = {0, 0, 0, 0};
  if (info.roles.back() != "steward") {
    info.roles.emplace_back("steward");
    info.hosts.emplace_back("lab-head");
  }
  results.journal.membership = std::move(rows);
  results.journal.accepted_samples = accepted;
  results.journal.counted_rounds = info.experiment.stop.rounds;
  results.summary = summarise(info, results.journal, Seconds(results.summary.makespan_s));
}

}  // namespace tandem::testing
