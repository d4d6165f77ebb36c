// What runs did beside their errors, as texts: where time went, samples, staleness, local steps, a target
// accuracy, and speed-ups over bsp.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "validation/report/view.hpp"

namespace tandem::validation {
namespace {

using nlohmann::json;
using Place = json::json_pointer;

double value_at(const json& run, const Place& place) {
  return run.contains(place) ? number_or_nan(run.at(place)) : std::numeric_limits<double>::quiet_NaN();
}

/// Mean over repetitions; NaN when one of them does not have it.
double mean_at(const json& runs, const Place& place) {
  double sum = 0;
  for (const auto& run : runs) sum += value_at(run, place);
  return sum / static_cast<double>(runs.size());
}

/// Rows about one configuration. Rows that say nothing of it are left out.
class Rows {
 public:
  explicit Rows(const json& configuration)
      : simulated_(configuration.at("metrics").at("simulated")),
        measured_(configuration.at("metrics").at("measured")) {}

  void add(const std::string& name, const std::string& place, Unit unit) {
    const double simulated = value_at(simulated_, Place(place)), measured = mean_at(measured_, Place(place));
    if (std::isnan(simulated) && std::isnan(measured)) return;
    if (simulated == 0 && measured == 0) return;
    const double scale = measured == 0 || std::isnan(measured) ? simulated : measured;
    rows.push_back({name, with_unit(simulated, unit, scale), with_unit(measured, unit, scale)});
  }

  /// "2.97 (0 to 5)".
  void add_distribution(const std::string& name, const std::string& key) {
    const auto text = [&](const json& runs) -> std::string {
      double low = std::numeric_limits<double>::infinity(), high = -low;
      for (const auto& run : runs) {
        if (!run.at(key).is_object()) return "-";
        low = std::min(low, run.at(key).at("min").get<double>());
        high = std::max(high, run.at(key).at("max").get<double>());
      }
      return fmt::format("{} ({:.0f} to {:.0f})", three_digits(mean_at(runs, Place("/" + key + "/mean"))),
                         low, high);
    };
    const std::string simulated = text(json::array({simulated_})), measured = text(measured_);
    if (simulated != "-" || measured != "-") rows.push_back({name, simulated, measured});
  }

  bool applies_less_than_processed() const {
    return simulated_.at("applied_samples") != simulated_.at("samples") ||
           std::any_of(measured_.begin(), measured_.end(),
                       [](const json& run) { return run.at("applied_samples") != run.at("samples"); });
  }
  std::size_t servers() const { return simulated_.at("servers").size(); }
  std::string server_name(std::size_t index) const {
    const json& server = simulated_.at("servers").at(index);
    const std::string host = server.at("host");
    return fmt::format("rank {} (server{})", server.at("rank").get<int>(), host.empty() ? "" : " on " + host);
  }

  std::vector<MetricRow> rows;

 private:
  const json& simulated_;
  const json& measured_;
};

void add_servers(Rows& rows) {
  constexpr std::size_t most = 4;
  if (rows.servers() > 1)
    rows.add("largest shard of the model, over their mean", "/sharding/largest_over_mean", Unit::count);
  for (std::size_t i = 0; i < std::min(rows.servers(), most); ++i) {
    const std::string place = fmt::format("/servers/{}/", i), name = rows.server_name(i);
    rows.add("sent by " + name, place + "bytes_sent", Unit::bytes);
    rows.add("received by " + name, place + "bytes_received", Unit::bytes);
    rows.add("time computing of " + name, place + "computing", Unit::ratio);
  }
}

/// "after 3.21 s and 5,120 samples", "not reached (best 0.631)".
std::string outcome_text(const json& outcome) {
  if (outcome.at("evaluations") == 0) return "nothing was evaluated";
  if (!outcome.at("reached").get<bool>())
    return fmt::format("not reached (best {:.3f})", outcome.at("best").get<double>());
  return fmt::format("after {} and {} samples", with_unit(outcome.at("checkpoint_time_s"), Unit::seconds),
                     with_unit(outcome.at("samples"), Unit::count));
}

std::string measured_outcome(const json& runs) {
  const auto reached = std::count_if(runs.begin(), runs.end(), [](const json& run) {
    return run.at("time_to_target").at("reached").get<bool>();
  });
  if (runs.size() == 1) return outcome_text(runs.front().at("time_to_target"));
  if (static_cast<std::size_t>(reached) < runs.size())
    return fmt::format("reached by {} of {} runs", reached, runs.size());
  return fmt::format("after {} and {} samples (mean of {} runs)",
                     with_unit(mean_at(runs, Place("/time_to_target/checkpoint_time_s")), Unit::seconds),
                     with_unit(std::round(mean_at(runs, Place("/time_to_target/samples"))), Unit::count),
                     runs.size());
}

/// "2.13 / 2.04".
std::string both(const json& worlds) {
  return three_digits(number_or_nan(worlds.at("simulated"))) + " / " +
         three_digits(number_or_nan(worlds.at("measured")));
}

bool is_gain(const json& variant) {
  return variant.at("baseline").is_string() && variant.at("baseline") != variant.at("name");
}

std::string speed_ups_of_one_group(const json& group) {
  constexpr int most = 12;
  std::string gains, targets;
  int told = 0;
  for (const auto& variant : group.at("variants")) {
    if (!is_gain(variant)) continue;
    if (told++ == most) {
      gains += " ...";
      break;
    }
    const std::string name = variant.at("name"), baseline = variant.at("baseline");
    gains += fmt::format("{}{} over {} {}", gains.empty() ? "" : ", ", name, baseline,
                         both(variant.at("speed_up")));
    if (const auto& gain = variant.at("target_speed_up");
        gain.at("simulated").is_number() && gain.at("measured").is_number())
      targets += fmt::format("{}{} {}", targets.empty() ? "" : ", ", name, both(gain));
  }
  if (gains.empty()) return "";
  const std::string text = "Speed-up by throughput, simulated / measured: " + gains + ".";
  return targets.empty() ? text : text + " By time to the target accuracy: " + targets + ".";
}

bool has_baseline(const json& group) {
  const auto& variants = group.at("variants");
  return std::any_of(variants.begin(), variants.end(),
                     [](const json& variant) { return variant.at("baseline").is_string(); });
}

}  // namespace

std::vector<MetricRow> metric_rows(const json& configuration) {
  Rows rows(configuration);
  for (const char* share : {"computing", "data", "query", "exchange"})
    rows.add(fmt::format("time of workers: {}", share), fmt::format("/shares/{}", share), Unit::ratio);
  for (const char* share : {"communicating", "waiting"})
    rows.add(fmt::format("of the exchange: {}", share), fmt::format("/exchange_shares/{}", share),
             Unit::ratio);
  rows.add("time of workers: other", "/shares/other", Unit::ratio);
  rows.add("samples processed", "/samples", Unit::count);
  if (rows.applies_less_than_processed()) {
    rows.add("samples applied", "/applied_samples", Unit::count);
    rows.add("samples dropped as too late", "/dropped_samples", Unit::count);
    rows.add("samples pending at the end", "/pending_samples", Unit::count);
  }
  rows.add_distribution("staleness of pushes", "staleness");
  rows.add_distribution("local steps a round", "local_steps");
  add_servers(rows);
  return rows.rows;
}

std::string target_text(const json& configuration) {
  const json& metrics = configuration.at("metrics");
  const json& simulated = metrics.at("simulated").at("time_to_target");
  if (!simulated.is_object()) return "";
  return fmt::format("Target accuracy {:.4g}: simulated {}; measured {}.",
                     simulated.at("target").get<double>(), outcome_text(simulated),
                     measured_outcome(metrics.at("measured")));
}

std::string speed_up_text(const json& set) {
  const auto& groups = set.at("groups");
  if (groups.empty()) return "";
  const auto with = std::count_if(groups.begin(), groups.end(), has_baseline);
  if (with == 0)
    return "No speed-up over bsp is told: no variant is bsp on the same platform with the same model and "
           "data "
           "set.";
  if (groups.size() == 1) return speed_ups_of_one_group(groups.front());
  const json& ranking = set.at("ranking");
  std::string text = fmt::format(
      "Speed-up by throughput over the bsp of the group: predicted with a mean absolute error of {} for {} "
      "variants.",
      percent(number_or_nan(ranking.at("speed_up_mape"))), ranking.at("speed_ups").get<int>());
  if (const auto without = static_cast<std::ptrdiff_t>(groups.size()) - with; without > 0)
    text += fmt::format(" {} of {} groups have no bsp.", without, groups.size());
  return text;
}

}  // namespace tandem::validation
