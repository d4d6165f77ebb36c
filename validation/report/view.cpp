#include "validation/report/view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "validation/compare/headline.hpp"

namespace tandem::validation {
namespace {

using nlohmann::json;

/// "asp 4, esync 1": configurations where the count is not 0.
std::string counts_by_variant(const std::vector<const json*>& variants, const char* key) {
  constexpr int most = 8;
  std::string text;
  int named = 0, more = 0;
  for (const auto* variant : variants) {
    const std::int64_t count = variant->at(key);
    if (count == 0) continue;
    if (named == most) {
      ++more;
      continue;
    }
    ++named;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", variant->at("name").get<std::string>(),
                        with_unit(static_cast<double>(count), Unit::count));
  }
  return more == 0 ? text : text + fmt::format(" and {} more configurations", more);
}

std::string cpu_wait_note(const std::vector<const json*>& variants) {
  const auto share = [](const json& variant) { return variant.at("cpu_wait_share").get<double>(); };
  const auto& worst = **std::max_element(variants.begin(), variants.end(),
                                         [&](const json* a, const json* b) { return share(*a) < share(*b); });
  return fmt::format(
      "Measured ranks waited for a CPU core for up to {:.1f} % of a run ({}). Measured times include this "
      "wait, "
      "simulated times do not.",
      share(worst) * 100, worst.at("name").get<std::string>());
}

/// Of the configurations whose share is large.
struct LargeShares {
  int count = 0;
  double most = 0.0;
  std::string worst = {};  ///< name of the configuration
};
LargeShares large_shares(const std::vector<const json*>& variants, const char* key, double large) {
  LargeShares found{.most = large};
  for (const json* variant : variants) {
    const double share = variant->at(key);
    if (share > large) ++found.count;
    if (share > found.most) found.worst = variant->at("name");
    found.most = std::max(found.most, share);
  }
  return found;
}

/// Empty when other programs never used much of the machine.
std::string other_load_note(const std::vector<const json*>& variants) {
  constexpr double worth_a_note = 0.1;
  const auto loads = large_shares(variants, "other_load", worth_a_note);
  if (loads.count == 0) return "";
  return fmt::format(
      "Other programs used this machine while {} of {} configurations were measured: up to {:.0f} % "
      "of its cores ({}).",
      loads.count, variants.size(), loads.most * 100, loads.worst);
}

/// Empty when no GPU was throttled.
std::string throttled_note(const std::vector<const json*>& variants) {
  const auto shares = large_shares(variants, "throttled", 0.0);
  if (shares.count == 0) return "";
  return fmt::format(
      "GPUs were throttled while {} of {} configurations were measured: at up to {:.0f} % of the samples "
      "({}). Measured times are those of slower GPUs; `warnings` in run.json has the reasons.",
      shares.count, variants.size(), shares.most * 100, shares.worst);
}

bool is_busy(const std::vector<const json*>& variants) {
  constexpr double share = 0.1;
  return std::any_of(variants.begin(), variants.end(),
                     [](const json* variant) { return variant->at("cpu_wait_share").get<double>() > share; });
}

/// Separates errors of the simulator's code from errors of the network and machine model.
std::string witness_note(const json& set) {
  for (const auto& errors : set.at("errors"))
    if (errors.at("key") == "step_time" && errors.at("witnessed") != 0)
      return fmt::format(
          "SMPI witness (the MPI program itself on SimGrid's MPI, with the same network model; {} "
          "configurations): on average its step times differ by {} from the simulator's and by {} from the "
          "measured ones. SMPI lets several messages from one rank to another share a link; the simulator "
          "and "
          "TCP send them one after the other. sim/README.md has the closed forms and a measurement.",
          errors.at("witnessed").get<int>(), percent(number_or_nan(errors.at("code_path"))),
          percent(number_or_nan(errors.at("model"))));
  return "";
}

// ---- Figures without errors ----

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

/// Rows about one configuration. Rows without a value are left out.
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
    rows.add("largest shard of the model / mean shard", "/sharding/largest_over_mean", Unit::count);
  for (std::size_t i = 0; i < std::min(rows.servers(), most); ++i) {
    const std::string place = fmt::format("/servers/{}/", i), name = rows.server_name(i);
    rows.add("sent by " + name, place + "bytes_sent", Unit::bytes);
    rows.add("received by " + name, place + "bytes_received", Unit::bytes);
    rows.add("share of time " + name + " computes", place + "computing", Unit::ratio);
    rows.add("share of time payload travels to " + name, place + "link/in", Unit::ratio);
    rows.add("share of time payload travels from " + name, place + "link/out", Unit::ratio);
    rows.add("share of time it travels both ways", place + "link/both", Unit::ratio);
  }
}

/// What the busiest shard has under the job's sharding and the others, as run.json says; the same in both
/// worlds. Nothing with fewer than two shards, and for results of older versions.
void add_shard_shares(const json& configuration, std::vector<MetricRow>& rows) {
  const json& environment = configuration.at("environment");
  const auto told = [&](const char* world, const json::json_pointer& place) {
    const json& run = environment.at(world);
    return run.contains(place) ? percent(run.at(place)) : std::string("-");
  };
  const auto add = [&](const std::string& name, const json::json_pointer& bytes,
                       const json::json_pointer& messages) {
    const auto text = [&](const char* world) { return told(world, bytes) + ", " + told(world, messages); };
    rows.push_back({name, text("simulated"), text("measured")});
  };
  const json& simulated = environment.at("simulated");
  if (!simulated.contains(Place("/sharding/busiest"))) return;
  add("busiest shard: share of bytes, of messages", Place("/sharding/busiest/bytes/share"),
      Place("/sharding/busiest/messages/share"));
  const json& others = simulated.at("sharding").at("others");
  for (std::size_t i = 0; i < others.size(); ++i) {
    const std::string place = fmt::format("/sharding/others/{}/", i);
    add(fmt::format("the same with sync.sharding: {}", others[i].at("policy").get<std::string>()),
        Place(place + "bytes"), Place(place + "messages"));
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

/// A speed-up in throughput says nothing without them.
std::string exchanges_text(const json& exchanges) {
  return Exchanges{exchanges.at("local_steps"), exchanges.at("count"), exchanges.at("staleness")}.text();
}

bool is_gain(const json& variant) {
  return variant.at("baseline").is_string() && variant.at("baseline") != variant.at("name");
}

std::string speed_ups_of_one_group(const json& group) {
  constexpr int most = 12;
  std::string gains, targets;
  int named = 0;
  for (const auto& variant : group.at("variants")) {
    if (!is_gain(variant)) continue;
    if (named++ == most) {
      gains += " ...";
      break;
    }
    const std::string name = variant.at("name"), baseline = variant.at("baseline");
    gains += fmt::format("{}{} over {} {} ({})", gains.empty() ? "" : ", ", name, baseline,
                         both(variant.at("speed_up")), exchanges_text(variant.at("exchanges")));
    if (const auto& gain = variant.at("target_speed_up");
        gain.at("simulated").is_number() && gain.at("measured").is_number())
      targets += fmt::format("{}{} {}", targets.empty() ? "" : ", ", name, both(gain));
  }
  if (gains.empty()) return "";
  const std::string text = "Speed-up in throughput, simulated / measured: " + gains + ".";
  return targets.empty() ? text : text + " Speed-up in time to the target accuracy: " + targets + ".";
}

bool has_baseline(const json& group) {
  const auto& variants = group.at("variants");
  return std::any_of(variants.begin(), variants.end(),
                     [](const json& variant) { return variant.at("baseline").is_string(); });
}

}  // namespace

std::string both_worlds(double simulated, double measured, Unit unit) {
  const double scale = std::isnan(measured) || measured == 0 ? simulated : measured;
  return with_unit(simulated, unit, scale) + " / " + with_unit(measured, unit, scale);
}

const json* find_figure(const json& configuration, const std::string& key) {
  for (const auto& figure : configuration.at("figures"))
    if (figure.at("key") == key && figure.at("rank") == -1) return &figure;
  return nullptr;
}

std::vector<std::pair<std::string, std::string>> failed_gates(const json& document) {
  std::vector<std::pair<std::string, std::string>> failed;
  for (const auto* variant : compared_configurations(document))
    for (const char* gate : {"operations", "decisions", "replay"})
      if (const auto& found = variant->at("gates").at(gate); found.at("state") == "failed")
        failed.emplace_back(fmt::format("{}: {}", variant->at("name").get<std::string>(), gate),
                            found.at("detail"));
  return failed;
}

std::string parity_state(const json& variant) {
  const auto& gates = variant.at("gates");
  const std::string operations = gates.at("operations").at("state");
  const std::string decisions = gates.at("decisions").at("state");
  if (operations == "failed" || decisions == "failed") return "failed";
  return operations == "passed" || decisions == "passed" ? "passed" : "not checked";
}

bool is_phase(const json& figure) { return figure.at("key").get<std::string>().starts_with("phase."); }

std::string interval_text(const json& interval, std::string (*text)(double)) {
  if (!interval.is_array()) return "-";
  const std::string low = text(interval[0]);
  return low.substr(0, low.find(' ')) + " to " + text(interval[1]);
}

std::vector<std::pair<std::string, std::string>> flattened(const json& object) {
  constexpr std::size_t longest = 160;
  std::vector<std::pair<std::string, std::string>> texts;
  for (const auto& [name, value] : object.items()) {
    if (value.is_object()) {
      for (auto& [inner, text] : flattened(value)) texts.emplace_back(name + '.' + inner, std::move(text));
    } else if (value.is_array() && value.dump().size() > longest) {
      texts.emplace_back(name, fmt::format("{} entries", value.size()));
    } else {
      texts.emplace_back(name, value.is_string() ? value.get<std::string>() : value.dump());
    }
  }
  return texts;
}

std::vector<const json*> pointers_to(const json& array) {
  std::vector<const json*> all;
  for (const auto& element : array) all.push_back(&element);
  return all;
}

std::vector<const json*> compared_configurations(const json& document) {
  std::vector<const json*> all;
  for (const auto& configuration : document.at("configurations"))
    if (configuration.at("failure") == "") all.push_back(&configuration);
  return all;
}

std::vector<const json*> detailed_configurations(const json& document) {
  auto all = compared_configurations(document);
  std::erase_if(all, [](const json* configuration) { return configuration->at("detail").is_null(); });
  const auto error = [](const json* configuration) {
    return std::abs(number_or_nan(find_figure(*configuration, "step_time")->at("error")));
  };
  std::stable_sort(all.begin(), all.end(), [&](const json* a, const json* b) { return error(a) > error(b); });
  return all;
}

std::vector<const json*> failed_configurations(const json& document) {
  std::vector<const json*> all;
  for (const auto& configuration : document.at("configurations"))
    if (configuration.at("failure") != "") all.push_back(&configuration);
  return all;
}

std::string attribution_text(const json& part) {
  const std::string phase = part.at("phase"), kind = part.at("kind"), host = part.at("host");
  const int rank = part.at("rank"), peer = part.at("peer");
  if (rank < 0) return "different numbers of steps per rank";
  std::string text = fmt::format("{} of rank {}{}", phase, rank, host.empty() ? "" : " on " + host);
  if (kind.empty()) return text;
  if (kind == "compute" || kind == "sleep") return text + ": " + kind;
  if (peer < 0) return text + ": waiting to " + kind;
  const std::string peer_host = part.at("peer_host");
  return text + fmt::format(": waiting to {} {} rank {}{}", kind, kind == "send" ? "to" : "from", peer,
                            peer_host.empty() ? "" : " (" + peer_host + ")");
}

std::string ranking_text(const json& set) {
  const std::size_t groups = set.at("groups").size();
  if (groups == 0) return "";
  const json& ranking = set.at("ranking");
  const auto value = [&](const char* key) { return three_digits(number_or_nan(ranking.at(key))); };
  if (groups == 1)
    return fmt::format(
        "Ranking by throughput: Spearman {}, Kendall {}, loss from choosing by simulation (regret) {}.",
        value("spearman"), value("kendall"), percent(ranking.at("mean_regret")));
  return fmt::format(
      "Ranking by throughput, over {} groups that differ only in the algorithm: Spearman {} and Kendall {} "
      "on "
      "average; the simulation picks the fastest algorithm in {} of them; loss from choosing by simulation "
      "(regret) {} on average, at most {}. Over all configurations: Spearman {}, Kendall {}.",
      groups, value("mean_spearman"), value("mean_kendall"), ranking.at("same_best").get<int>(),
      percent(ranking.at("mean_regret")), percent(ranking.at("largest_regret")), value("spearman"),
      value("kendall"));
}

std::string coverage_text(const json& set) {
  const json& coverage = set.at("coverage");
  if (coverage.at("runs") == 0) return "";
  const json& errors = set.at("timing_driven");
  const int runs = coverage.at("runs"), inside = coverage.at("inside"), count = coverage.at("configurations");
  return fmt::format(
      "{} configuration{} whose decisions depend on timing {} predicted as a distribution: error of the "
      "median step "
      "time {} on average, p95 {}; the 90 % intervals hold {} of {} measured runs ({:.0f} %).",
      count, count == 1 ? "" : "s", count == 1 ? "is" : "are", percent(number_or_nan(errors.at("mape"))),
      percent(number_or_nan(errors.at("p95"))), inside, runs, 100.0 * inside / runs);
}

std::vector<MetricRow> metric_rows(const json& configuration) {
  Rows rows(configuration);
  for (const char* share : {"computing", "data", "query", "exchange"})
    rows.add(fmt::format("share of workers' time: {}", share), fmt::format("/shares/{}", share), Unit::ratio);
  for (const char* share : {"communicating", "waiting"})
    rows.add(fmt::format("exchange: {}", share), fmt::format("/exchange_shares/{}", share), Unit::ratio);
  rows.add("share of workers' time: other", "/shares/other", Unit::ratio);
  rows.add("samples processed", "/samples", Unit::count);
  if (rows.applies_less_than_processed()) {
    rows.add("samples applied", "/applied_samples", Unit::count);
    rows.add("samples dropped (arrived too late)", "/dropped_samples", Unit::count);
    rows.add("samples pending at the end", "/pending_samples", Unit::count);
    rows.add("samples lost with their machines", "/membership/lost_samples", Unit::count);
  }
  rows.add_distribution("staleness of pushes", "staleness");
  rows.add_distribution("local steps per round", "local_steps");
  rows.add("phase order of workers (1: all in phase)", "/phase_order", Unit::count);
  add_servers(rows);
  add_shard_shares(configuration, rows.rows);
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
    return "No speed-up over bsp: no variant runs bsp on the same platform with the same model and data set.";
  if (groups.size() == 1) return speed_ups_of_one_group(groups.front());
  const json& ranking = set.at("ranking");
  std::string text = fmt::format(
      "Speed-up in throughput over the group's bsp: predicted with a mean absolute error of {} for {} "
      "variants.",
      percent(number_or_nan(ranking.at("speed_up_mape"))), ranking.at("speed_ups").get<int>());
  if (const auto without = static_cast<std::ptrdiff_t>(groups.size()) - with; without > 0)
    text += fmt::format(" {} of {} groups have no bsp variant.", without, groups.size());
  return text;
}

std::vector<std::string> machine_warnings(const json& document) {
  std::vector<std::string> all;
  const auto variants = compared_configurations(document);
  if (const auto counts = counts_by_variant(variants, "missed_deadlines"); !counts.empty())
    all.push_back(
        "This machine was too slow for the devices it emulated, so measured times are too long. Missed "
        "deadlines: " +
        counts + ".");
  if (is_busy(variants))
    all.push_back(cpu_wait_note(variants) +
                  " Causes are other programs on this machine or more ranks than cores (oversubscription).");
  for (auto note : {other_load_note(variants), throttled_note(variants)})
    if (!note.empty()) all.push_back(std::move(note));
  return all;
}

std::vector<std::string> remarks(const json& document) {
  std::vector<std::string> all;
  const auto variants = compared_configurations(document);
  if (variants.empty()) return all;
  if (document.at("sets").size() > 1)
    all.emplace_back(
        "The headline figures are those of the hold-out set: configurations that no calibration used.");
  const int warmup = variants.front()->at("warmup_steps");
  all.push_back(fmt::format(
      "Step time and phases exclude the first {} steps of each worker (warm-up); makespan, throughput and "
      "bytes cover whole runs.",
      warmup));
  all.emplace_back(
      "Error: (simulated - measured) / measured. Contribution of a phase: (simulated - measured) / measured "
      "step time; the contributions of all phases add up to the error of step time.");
  all.emplace_back(
      "95 % interval: 10,000 moving-block resamples of steps and repetitions of one configuration. 90 % "
      "interval of a mean error: resamples of configurations. Noise floor: how much repeated measurements "
      "differ from each other. Within margin: two one-sided tests of equivalence.");
  if (std::ranges::any_of(variants, [](const json* variant) { return variant->at("draws") > 1; }))
    all.emplace_back(
        "Configurations with modelled mathematics are simulated three times with different random noise; the "
        "simulation with the median throughput is compared.");
  if (const auto note = witness_note(document.at("sets").front()); !note.empty()) all.push_back(note);
  if (const auto counts = counts_by_variant(variants, "unmatched_steps"); !counts.empty())
    all.push_back("Unmatched steps (only in the simulation or only in the measurement): " + counts + ".");
  const auto warnings = machine_warnings(document);
  all.insert(all.end(), warnings.begin(), warnings.end());
  if (!is_busy(variants)) all.push_back(cpu_wait_note(variants));
  if (variants.front()->at("repetitions") == 1)
    all.emplace_back("One measured run has no noise floor; set repetitions to 3 or more to get one.");
  return all;
}

}  // namespace tandem::validation
