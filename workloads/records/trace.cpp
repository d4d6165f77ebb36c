// Chrome trace format: one process a world, one track a rank, so that two traces can be opened side by side.
#include <fmt/format.h>

#include "workloads/records/result_directory.hpp"

namespace tandem {
namespace {

using nlohmann::json;

/// Viewers become slow beyond some hundred thousand slices, so that later steps of long runs are left out.
constexpr std::size_t most_slices = 300'000;

double microseconds(Seconds time) { return time.count() * 1e6; }

void name_tracks(const RunInfo& info, int process, json& events) {
  events.push_back(
      {{"ph", "M"}, {"name", "process_name"}, {"pid", process}, {"args", {{"name", info.world}}}});
  for (std::size_t rank = 0; rank < info.roles.size(); ++rank) {
    const std::string host = rank < info.hosts.size() ? info.hosts[rank] : "?";
    const std::string name = fmt::format("rank {} {} on {}", rank, info.roles[rank], host);
    events.push_back(
        {{"ph", "M"}, {"name", "thread_name"}, {"pid", process}, {"tid", rank}, {"args", {{"name", name}}}});
    events.push_back({{"ph", "M"},
                      {"name", "thread_sort_index"},
                      {"pid", process},
                      {"tid", rank},
                      {"args", {{"sort_index", rank}}}});
  }
}

void add_step(const StepRecord& step, int process, json& events) {
  Seconds start = step.start;
  for (std::size_t i = 0; i < phase_count; ++i) {
    if (step.phases[i].count() <= 0) continue;
    events.push_back({{"ph", "X"},
                      {"name", phase_names[i]},
                      {"cat", "step"},
                      {"pid", process},
                      {"tid", step.rank},
                      {"ts", microseconds(start)},
                      {"dur", microseconds(step.phases[i])},
                      {"args", {{"step", step.step}, {"round", step.round}, {"version", step.version}}}});
    start += step.phases[i];
  }
}

}  // namespace

json chrome_trace(const RunInfo& info, const Journal& journal) {
  const int process = info.world == "simulated" ? 1 : 2;
  json events = json::array();
  name_tracks(info, process, events);
  std::size_t steps = 0;
  for (const auto& step : journal.steps) {
    if (events.size() + phase_count > most_slices) break;
    add_step(step, process, events);
    ++steps;
  }
  for (const auto& evaluation : journal.evaluations)
    events.push_back(
        {{"ph", "i"},
         {"s", "p"},
         {"name", "evaluation"},
         {"cat", "evaluation"},
         {"pid", process},
         {"tid", 0},
         {"ts", microseconds(evaluation.time)},
         {"args",
          {{"round", evaluation.round}, {"accuracy", evaluation.accuracy}, {"loss", evaluation.loss}}}});
  return {{"displayTimeUnit", "ms"},
          {"otherData",
           {{"experiment", info.experiment.name},
            {"world", info.world},
            {"steps", fmt::format("{} of {}", steps, journal.steps.size())}}},
          {"traceEvents", std::move(events)}};
}

}  // namespace tandem
