#include "cli/fit/fit_replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "policies/vocabulary/options.hpp"
#include "workloads/experiment/json_file.hpp"

namespace tandem::cli {
namespace {

using nlohmann::json;

/// Errors: ConfigError.
double gap_of(const JsonFile& file) {
  const double gap = file.document().at("metadata").at("gap_seconds");
  if (gap <= 0.0)
    file.fail(json::json_pointer("/metadata/gap_seconds"), "a number of seconds above 0",
              fmt::format("{}", gap));
  return gap;
}

/// Errors: ConfigError.
std::vector<double> counts_of(const JsonFile& file) {
  std::vector<double> counts = file.document().at("data");
  const json::json_pointer data("/data");
  if (counts.empty()) file.fail(data, "at least one number of machines", "an empty list");
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] < 0.0 || counts[i] != std::floor(counts[i]))
      file.fail(data / i, "a whole number of machines of at least 0", fmt::format("{}", counts[i]));
  return counts;
}

}  // namespace

ReplayedFile replay_events(const EventsFile& file) {
  std::set<std::string> nodes;
  for (const auto& event : file.events) nodes.insert(event.node);
  const auto count = [&](NodeEvent::Kind kind) {
    return std::ranges::count(file.events, kind, &NodeEvent::kind);
  };
  const auto arrivals = count(NodeEvent::Kind::add), departures = count(NodeEvent::Kind::remove),
             warnings = count(NodeEvent::Kind::warn);
  const double last = file.events.back().time;
  return {
      .file = file.path,
      .chosen = {"trace", {{"events", trace_text(file)}}},
      .source = {{"file", file.path},
                 {"machines", nodes.size()},
                 {"arrivals", arrivals},
                 {"departures", departures},
                 {"warnings", warnings},
                 {"observed_up_to_s", last}},
      .text = fmt::format("{}: {} nodes in {}: {} arrivals, {} departures, {} warnings\n  chosen: trace\n",
                          file.path, nodes.size(), age_text(last), arrivals, departures, warnings)};
}

ReplayedFile replay_capacity(const std::string& path) {
  const JsonFile file(path, "a trace of capacity");
  file.expect_like({{"metadata", {{"gap_seconds", 1.0}}}, {"data", {1}}});
  const double gap = gap_of(file);
  const auto counts = counts_of(file);
  std::string text;
  for (const double count : counts) text += (text.empty() ? "" : ",") + to_text(OptionValue(count));
  const auto [least, most] = std::ranges::minmax(counts);
  const double last = gap * static_cast<double>(counts.size());
  return {.file = path,
          .chosen = {"capacity-trace", {{"counts", text}, {"gap", gap}}},
          .source = {{"file", path},
                     {"counts", counts.size()},
                     {"least", least},
                     {"most", most},
                     {"observed_up_to_s", last}},
          .text = fmt::format("{}: {} counts in {}, from {:g} to {:g} machines\n  chosen: capacity-trace\n",
                              path, counts.size(), age_text(last), least, most)};
}

}  // namespace tandem::cli
