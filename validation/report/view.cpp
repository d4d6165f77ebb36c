#include "validation/report/view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "validation/compare/headline.hpp"

namespace tandem::validation {
namespace {

using nlohmann::json;
using Variants = std::vector<const ReportConfiguration*>;

/// "asp 4, esync 1": configurations where the count is not 0.
template <class Count>
std::string counts_by_variant(const Variants& variants, Count ReportConfiguration::*member) {
  constexpr int most = 8;
  std::string text;
  int named = 0, more = 0;
  for (const auto* variant : variants) {
    const std::int64_t count = variant->*member;
    if (count == 0) continue;
    if (named == most) {
      ++more;
      continue;
    }
    ++named;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", variant->name,
                        with_unit(static_cast<double>(count), Unit::count));
  }
  return more == 0 ? text : text + fmt::format(" and {} more configurations", more);
}

std::string cpu_wait_note(const Variants& variants) {
  const auto& worst = **std::ranges::max_element(
      variants, {}, [](const ReportConfiguration* variant) { return variant->cpu_wait_share; });
  return fmt::format(
      "Measured ranks waited for a CPU core for up to {:.1f} % of a run ({}). Measured times include this "
      "wait, "
      "simulated times do not.",
      worst.cpu_wait_share * 100, worst.name);
}

/// The shares of configurations whose share is large.
struct LargeShares {
  int count = 0;
  double most = 0.0;
  std::string worst = {};  ///< name of the configuration
};
LargeShares large_shares(const Variants& variants, double ReportConfiguration::*member, double large) {
  LargeShares found{.most = large};
  for (const ReportConfiguration* variant : variants) {
    const double share = variant->*member;
    if (share > large) ++found.count;
    if (share > found.most) found.worst = variant->name;
    found.most = std::max(found.most, share);
  }
  return found;
}

/// Empty when other programs never used much of the machine.
std::string other_load_note(const Variants& variants) {
  constexpr double worth_a_note = 0.1;
  const auto loads = large_shares(variants, &ReportConfiguration::other_load, worth_a_note);
  if (loads.count == 0) return "";
  return fmt::format(
      "Other programs used this machine while {} of {} configurations were measured: up to {:.0f} % "
      "of its cores ({}).",
      loads.count, variants.size(), loads.most * 100, loads.worst);
}

/// Empty when no GPU was throttled.
std::string throttled_note(const Variants& variants) {
  const auto shares = large_shares(variants, &ReportConfiguration::throttled, 0.0);
  if (shares.count == 0) return "";
  return fmt::format(
      "GPUs were throttled while {} of {} configurations were measured: at up to {:.0f} % of the samples "
      "({}). Measured times are those of slower GPUs; `warnings` in run.json has the reasons.",
      shares.count, variants.size(), shares.most * 100, shares.worst);
}

bool is_busy(const Variants& variants) {
  constexpr double share = 0.1;
  return std::ranges::any_of(
      variants, [](const ReportConfiguration* variant) { return variant->cpu_wait_share > share; });
}

/// Separates errors of the simulator's code from errors of the network and machine model.
std::string witness_note(const SetSummary& set) {
  for (const auto& errors : set.errors)
    if (errors.key == "step_time" && errors.witnessed != 0)
      return fmt::format(
          "SMPI witness (the MPI program itself on SimGrid's MPI, with the same network model; {} "
          "configurations): on average its step times differ by {} from the simulator's and by {} from the "
          "measured ones. SMPI lets several messages from one rank to another share a link; the simulator "
          "and "
          "TCP send them one after the other. sim/README.md has the closed forms and a measurement.",
          errors.witnessed, percent(value_or_nan(errors.code_path)), percent(value_or_nan(errors.model)));
  return "";
}

// ---- Figures without errors ----

/// None: the run does not have it.
using MetricOf = std::function<std::optional<double>(const RunMetrics&)>;

template <class Number>
std::optional<double> number(const std::optional<Number>& value) {
  return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
}
template <class Part>
MetricOf of_part(std::optional<Part> RunMetrics::*part, double Part::*member) {
  return
      [=](const RunMetrics& run) { return run.*part ? std::optional((*(run.*part)).*member) : std::nullopt; };
}

/// Mean over repetitions; NaN when one of them does not have it.
double mean_of(const std::vector<RunMetrics>& runs, const MetricOf& metric) {
  double sum = 0;
  for (const auto& run : runs) sum += value_or_nan(metric(run));
  return sum / static_cast<double>(runs.size());
}

/// Rows about one configuration. Rows without a value are left out.
class Rows {
 public:
  explicit Rows(const ReportConfiguration& configuration)
      : simulated_(configuration.metrics.simulated), measured_(configuration.metrics.measured) {}

  void add(const std::string& name, const MetricOf& metric, Unit unit) {
    const double simulated = value_or_nan(metric(simulated_)), measured = mean_of(measured_, metric);
    if (std::isnan(simulated) && std::isnan(measured)) return;
    if (simulated == 0 && measured == 0) return;
    const double scale = measured == 0 || std::isnan(measured) ? simulated : measured;
    rows.push_back({name, with_unit(simulated, unit, scale), with_unit(measured, unit, scale)});
  }

  /// "2.97 (0 to 5)".
  void add_distribution(const std::string& name, std::optional<DistributionSummary> RunMetrics::*member) {
    const auto text = [&](const std::vector<RunMetrics>& runs) -> std::string {
      double low = std::numeric_limits<double>::infinity(), high = -low;
      for (const auto& run : runs) {
        if (!(run.*member)) return "-";
        low = std::min(low, static_cast<double>((run.*member)->min));
        high = std::max(high, static_cast<double>((run.*member)->max));
      }
      const double mean = mean_of(runs, of_part(member, &DistributionSummary::mean));
      return fmt::format("{} ({:.0f} to {:.0f})", three_digits(mean), low, high);
    };
    const std::string simulated = text({simulated_}), measured = text(measured_);
    if (simulated != "-" || measured != "-") rows.push_back({name, simulated, measured});
  }

  bool applies_less_than_processed() const {
    const auto does = [](const RunMetrics& run) { return run.applied_samples != run.samples; };
    return does(simulated_) || std::ranges::any_of(measured_, does);
  }
  const std::vector<ServerSummary>& servers() const { return simulated_.servers; }

  std::vector<MetricRow> rows;

 private:
  const RunMetrics& simulated_;
  const std::vector<RunMetrics>& measured_;
};

void add_servers(Rows& rows) {
  constexpr std::size_t most = 4;
  if (rows.servers().size() > 1)
    rows.add("largest shard of the model / mean shard",
             of_part(&RunMetrics::sharding, &ShardSizes::largest_over_mean), Unit::count);
  for (std::size_t i = 0; i < std::min(rows.servers().size(), most); ++i) {
    const auto of_server = [i](auto value) -> MetricOf {
      return [i, value](const RunMetrics& run) -> std::optional<double> {
        return i < run.servers.size() ? value(run.servers[i]) : std::nullopt;
      };
    };
    const auto of_link = [&](double LinkUse::*direction) {
      return of_server([direction](const ServerSummary& server) {
        return server.link ? std::optional((*server.link).*direction) : std::nullopt;
      });
    };
    const ServerSummary& server = rows.servers()[i];
    const std::string name =
        fmt::format("rank {} (server{})", server.rank, server.host.empty() ? "" : " on " + server.host);
    rows.add("sent by " + name, of_server([](const auto& own) { return number(own.bytes_sent); }),
             Unit::bytes);
    rows.add("received by " + name, of_server([](const auto& own) { return number(own.bytes_received); }),
             Unit::bytes);
    rows.add("share of time " + name + " computes", of_server([](const auto& own) { return own.computing; }),
             Unit::ratio);
    rows.add("share of time payload travels to " + name, of_link(&LinkUse::in), Unit::ratio);
    rows.add("share of time payload travels from " + name, of_link(&LinkUse::out), Unit::ratio);
    rows.add("share of time it travels both ways", of_link(&LinkUse::both), Unit::ratio);
  }
}

/// The load of the busiest shard under the job's sharding and under the others, from run.json; the same in
/// both worlds. Nothing with fewer than two shards, and for results of older versions.
void add_shard_shares(const ReportConfiguration& configuration, std::vector<MetricRow>& rows) {
  using Place = json::json_pointer;
  const json& simulated = configuration.environment.simulated.sharding;
  const json& measured = configuration.environment.measured.sharding;
  const auto share_in = [&](const json& sharding, const Place& place) {
    return sharding.contains(place) ? percent(sharding.at(place)) : std::string("-");
  };
  const auto add = [&](const std::string& name, const Place& bytes, const Place& messages) {
    const auto text = [&](const json& sharding) {
      return share_in(sharding, bytes) + ", " + share_in(sharding, messages);
    };
    rows.push_back({name, text(simulated), text(measured)});
  };
  if (!simulated.contains(Place("/busiest"))) return;
  add("busiest shard: share of bytes, of messages", Place("/busiest/bytes/share"),
      Place("/busiest/messages/share"));
  const json& others = simulated.at("others");
  for (std::size_t i = 0; i < others.size(); ++i) {
    const std::string place = fmt::format("/others/{}/", i);
    add(fmt::format("the same with sync.sharding: {}", others[i].at("policy").get<std::string>()),
        Place(place + "bytes"), Place(place + "messages"));
  }
}

/// "after 3.21 s and 5,120 samples", "not reached (best 0.631)".
std::string outcome_text(const TargetOutcome& outcome) {
  if (outcome.evaluations == 0) return "nothing was evaluated";
  if (!outcome.reached) return fmt::format("not reached (best {:.3f})", outcome.best.value());
  return fmt::format("after {} and {} samples", with_unit(outcome.checkpoint_time_s.value(), Unit::seconds),
                     with_unit(static_cast<double>(outcome.samples.value()), Unit::count));
}

std::string measured_outcome(const std::vector<RunMetrics>& runs) {
  if (runs.size() == 1) return outcome_text(runs.front().time_to_target.value());
  const auto reached =
      std::ranges::count_if(runs, [](const RunMetrics& run) { return run.time_to_target.value().reached; });
  if (static_cast<std::size_t>(reached) < runs.size())
    return fmt::format("reached by {} of {} runs", reached, runs.size());
  const auto mean = [&](auto member) {
    return mean_of(runs, [member](const RunMetrics& run) { return number((*run.time_to_target).*member); });
  };
  return fmt::format("after {} and {} samples (mean of {} runs)",
                     with_unit(mean(&TargetOutcome::checkpoint_time_s), Unit::seconds),
                     with_unit(std::round(mean(&TargetOutcome::samples)), Unit::count), runs.size());
}

/// "2.13 / 2.04".
std::string both(const BothWorlds& worlds) {
  return three_digits(value_or_nan(worlds.simulated)) + " / " + three_digits(value_or_nan(worlds.measured));
}

bool is_gain(const RankedVariant& variant) {
  return !variant.baseline.empty() && variant.baseline != variant.name;
}

std::string speed_ups_of_one_group(const Ranking& group) {
  constexpr int most = 12;
  std::string gains, targets;
  int named = 0;
  for (const auto& variant : group.variants) {
    if (!is_gain(variant)) continue;
    if (named++ == most) {
      gains += " ...";
      break;
    }
    // A speed-up in throughput says nothing without the exchanges.
    gains += fmt::format("{}{} over {} {} ({})", gains.empty() ? "" : ", ", variant.name, variant.baseline,
                         both(variant.speed_up), variant.exchanges.text());
    if (const auto& gain = variant.target_speed_up; gain.simulated && gain.measured)
      targets += fmt::format("{}{} {}", targets.empty() ? "" : ", ", variant.name, both(gain));
  }
  if (gains.empty()) return "";
  const std::string text = "Speed-up in throughput, simulated / measured: " + gains + ".";
  return targets.empty() ? text : text + " Speed-up in time to the target accuracy: " + targets + ".";
}

bool has_baseline(const Ranking& group) {
  return std::ranges::any_of(group.variants,
                             [](const RankedVariant& variant) { return !variant.baseline.empty(); });
}

}  // namespace

std::string both_worlds(double simulated, double measured, Unit unit) {
  const double scale = std::isnan(measured) || measured == 0 ? simulated : measured;
  return with_unit(simulated, unit, scale) + " / " + with_unit(measured, unit, scale);
}

std::vector<std::pair<std::string, std::string>> failed_gates(const Report& report) {
  std::vector<std::pair<std::string, std::string>> failed;
  for (const auto* variant : report.compared()) {
    const auto& [operations, decisions, replay] = variant->gates;
    for (const auto& [name, gate] : {std::pair("operations", &operations), std::pair("decisions", &decisions),
                                     std::pair("replay", &replay)})
      if (gate->state == Gate::State::failed)
        failed.emplace_back(fmt::format("{}: {}", variant->name, name), gate->detail);
  }
  return failed;
}

std::string parity_state(const ReportConfiguration& variant) {
  const auto is = [&](Gate::State state) {
    return variant.gates.operations.state == state || variant.gates.decisions.state == state;
  };
  if (is(Gate::State::failed)) return "failed";
  return is(Gate::State::passed) ? "passed" : "not checked";
}

bool is_phase(const std::string& key) { return key.starts_with("phase."); }

std::string interval_text(const std::optional<Interval>& interval, std::string (*text)(double)) {
  if (!interval) return "-";
  const std::string low = text(interval->low);
  return low.substr(0, low.find(' ')) + " to " + text(interval->high);
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

std::string attribution_text(const AttributedPart& part) {
  if (part.rank < 0) return "different numbers of steps per rank";
  std::string text =
      fmt::format("{} of rank {}{}", part.phase, part.rank, part.host.empty() ? "" : " on " + part.host);
  if (part.kind.empty()) return text;
  if (part.kind == "compute" || part.kind == "sleep") return text + ": " + part.kind;
  if (part.peer < 0) return text + ": waiting to " + part.kind;
  return text + fmt::format(": waiting to {} {} rank {}{}", part.kind, part.kind == "send" ? "to" : "from",
                            part.peer, part.peer_host.empty() ? "" : " (" + part.peer_host + ")");
}

std::string ranking_text(const SetSummary& set) {
  const std::size_t groups = set.groups.size();
  if (groups == 0) return "";
  const auto text = [](const std::optional<double>& value) { return three_digits(value_or_nan(value)); };
  if (groups == 1)
    return fmt::format(
        "Ranking by throughput: Spearman {}, Kendall {}, loss from choosing by simulation (regret) {}.",
        text(set.spearman), text(set.kendall), percent(set.mean_regret));
  return fmt::format(
      "Ranking by throughput, over {} groups that differ only in the algorithm: Spearman {} and Kendall {} "
      "on "
      "average; the simulation picks the fastest algorithm in {} of them; loss from choosing by simulation "
      "(regret) {} on average, at most {}. Over all configurations: Spearman {}, Kendall {}.",
      groups, text(set.mean_spearman), text(set.mean_kendall), set.same_best, percent(set.mean_regret),
      percent(set.largest_regret), text(set.spearman), text(set.kendall));
}

std::string coverage_text(const SetSummary& set) {
  const Coverage& coverage = set.coverage;
  if (coverage.runs == 0) return "";
  const ErrorSummary& errors = set.timing_driven.value();
  const int count = coverage.configurations;
  return fmt::format(
      "{} configuration{} whose decisions depend on timing {} predicted as a distribution: error of the "
      "median step "
      "time {} on average, p95 {}; the 90 % intervals hold {} of {} measured runs ({:.0f} %).",
      count, count == 1 ? "" : "s", count == 1 ? "is" : "are", percent(errors.mape), percent(errors.p95),
      coverage.inside, coverage.runs, 100.0 * coverage.share());
}

std::vector<MetricRow> metric_rows(const ReportConfiguration& configuration) {
  Rows rows(configuration);
  const auto add_share = [&](const char* name, double TimeShares::*share) {
    rows.add(fmt::format("share of workers' time: {}", name), of_part(&RunMetrics::shares, share),
             Unit::ratio);
  };
  const auto add_part = [&](const char* name, double ExchangeShares::*share) {
    rows.add(fmt::format("exchange: {}", name), of_part(&RunMetrics::exchange_shares, share), Unit::ratio);
  };
  const auto add_samples = [&](const std::string& name, auto value) { rows.add(name, value, Unit::count); };
  add_share("computing", &TimeShares::computing);
  add_share("data", &TimeShares::data);
  add_share("query", &TimeShares::query);
  add_share("exchange", &TimeShares::exchange);
  add_part("communicating", &ExchangeShares::communicating);
  add_part("waiting", &ExchangeShares::waiting);
  add_share("waiting for commits", &TimeShares::commits);
  add_share("other", &TimeShares::other);
  add_samples("samples processed", [](const RunMetrics& run) { return static_cast<double>(run.samples); });
  if (rows.applies_less_than_processed()) {
    add_samples("samples applied", [](const RunMetrics& run) { return number(run.applied_samples); });
    add_samples("samples dropped (arrived too late)",
                [](const RunMetrics& run) { return static_cast<double>(run.dropped_samples); });
    add_samples("samples pending at the end",
                [](const RunMetrics& run) { return number(run.pending_samples); });
    add_samples("samples lost with their machines", [](const RunMetrics& run) {
      return run.membership ? number(run.membership->lost_samples) : std::nullopt;
    });
  }
  rows.add_distribution("staleness of pushes", &RunMetrics::staleness);
  rows.add_distribution("local steps per round", &RunMetrics::local_steps);
  add_samples("phase order of workers (1: all in phase)",
              [](const RunMetrics& run) { return run.phase_order; });
  add_servers(rows);
  add_shard_shares(configuration, rows.rows);
  return rows.rows;
}

std::string target_text(const ReportConfiguration& configuration) {
  const auto& simulated = configuration.metrics.simulated.time_to_target;
  if (!simulated) return "";
  return fmt::format("Target accuracy {:.4g}: simulated {}; measured {}.", simulated->target,
                     outcome_text(*simulated), measured_outcome(configuration.metrics.measured));
}

std::string speed_up_text(const SetSummary& set) {
  const auto& groups = set.groups;
  if (groups.empty()) return "";
  const auto with = std::ranges::count_if(groups, has_baseline);
  if (with == 0)
    return "No speed-up over bsp: no variant runs bsp on the same platform with the same model and data set.";
  if (groups.size() == 1) return speed_ups_of_one_group(groups.front());
  std::string text = fmt::format(
      "Speed-up in throughput over the group's bsp: predicted with a mean absolute error of {} for {} "
      "variants.",
      percent(value_or_nan(set.speed_up_mape)), set.speed_ups);
  if (const auto without = std::ssize(groups) - with; without > 0)
    text += fmt::format(" {} of {} groups have no bsp variant.", without, groups.size());
  return text;
}

std::vector<std::string> machine_warnings(const Report& report) {
  std::vector<std::string> all;
  const auto variants = report.compared();
  if (const auto counts = counts_by_variant(variants, &ReportConfiguration::missed_deadlines);
      !counts.empty())
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

std::vector<std::string> remarks(const Report& report) {
  std::vector<std::string> all;
  const auto variants = report.compared();
  if (variants.empty()) return all;
  if (report.sets.size() > 1)
    all.emplace_back(
        "The headline figures are those of the hold-out set: configurations that no calibration used.");
  all.push_back(fmt::format(
      "Step time and phases exclude the first {} steps of each worker (warm-up); makespan, throughput and "
      "bytes cover whole runs.",
      variants.front()->warmup_steps));
  all.emplace_back(
      "Error: (simulated - measured) / measured. Contribution of a phase: (simulated - measured) / measured "
      "step time; the contributions of all phases add up to the error of step time.");
  all.emplace_back(
      "95 % interval: 10,000 moving-block resamples of steps and repetitions of one configuration. 90 % "
      "interval of a mean error: resamples of configurations. Noise floor: how much repeated measurements "
      "differ from each other. Within margin: two one-sided tests of equivalence.");
  if (std::ranges::any_of(variants, [](const ReportConfiguration* variant) { return variant->draws > 1; }))
    all.emplace_back(
        "Configurations with modelled mathematics are simulated three times with different random noise; the "
        "simulation with the median throughput is compared.");
  if (const auto note = witness_note(report.sets.front()); !note.empty()) all.push_back(note);
  if (const auto counts = counts_by_variant(variants, &ReportConfiguration::unmatched_steps); !counts.empty())
    all.push_back("Unmatched steps (only in the simulation or only in the measurement): " + counts + ".");
  const auto warnings = machine_warnings(report);
  all.insert(all.end(), warnings.begin(), warnings.end());
  if (!is_busy(variants)) all.push_back(cpu_wait_note(variants));
  if (variants.front()->repetitions == 1)
    all.emplace_back("One measured run has no noise floor; set repetitions to 3 or more to get one.");
  return all;
}

}  // namespace tandem::validation
