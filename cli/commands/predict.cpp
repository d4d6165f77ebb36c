// `tandem predict`: how fast a job trains, in closed form, and what limits it.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "cli/commands/commands.hpp"
#include "cli/shared/job_options.hpp"
#include "cli/shared/output.hpp"
#include "policies/vocabulary/check.hpp"
#include "validation/report/scaling_page.hpp"
#include "workloads/priced/prediction.hpp"

namespace tandem::cli {
namespace {

nlohmann::json to_json(const priced::Prediction& found) {
  nlohmann::json parts = nlohmann::json::array(), limits = nlohmann::json::array();
  for (const auto& part : found.parts) parts.push_back({{"name", part.name}, {"seconds", part.time.count()}});
  for (const auto& limit : found.limits)
    limits.push_back({{"name", limit.name}, {"rounds_per_s", limit.rounds_per_s}});
  return {{"workers", found.workers},
          {"in_rounds", found.in_rounds},
          {"round_s", found.round.count()},
          {"round_range_s", {found.fastest.count(), found.slowest.count()}},
          {"certainty", to_text(found.certainty)},
          {"origin", found.origin},
          {"samples_per_s", found.samples_per_s},
          {"parts", parts},
          {"limits", limits},
          {"servers_needed", found.servers_needed},
          {"more_servers_help", found.more_servers_help},
          {"unused_cores", found.unused_cores},
          {"rounds", found.rounds},
          {"makespan_s", found.makespan.count()}};
}

std::string range_of(const priced::Prediction& found, double factor) {
  if (found.fastest == found.slowest) return "";
  return fmt::format(" ({:.4g} to {:.4g} s)", found.fastest.count() * factor, found.slowest.count() * factor);
}

void print_prediction(const std::string& name, const priced::Prediction& found) {
  fmt::print("{}: {} {}, {:.6g} samples/s\n", name, found.workers, found.workers == 1 ? "worker" : "workers",
             found.samples_per_s);
  fmt::print("{:<44} {:>11.6g} s{}\n", found.in_rounds ? "a round" : "a step of each worker",
             found.round.count(), range_of(found, 1.0));
  for (const auto& part : found.parts)
    fmt::print("  {:<42} {:>11.6g} s {:>5.1f} %\n", part.name, part.time.count(),
               100.0 * (part.time / found.round));
  if (found.rounds > 0)
    fmt::print("{:<44} {:>11.6g} s{}\n", fmt::format("{} rounds", found.rounds), found.makespan.count(),
               range_of(found, static_cast<double>(found.rounds)));
  for (std::size_t i = 0; i < found.limits.size(); ++i)
    fmt::print("{:<6} {}: at most {:.4g} rounds/s\n",
               i == 0   ? "binds"
               : i == 1 ? "next"
                        : "then",
               found.limits[i].name, found.limits[i].rounds_per_s);
  if (!found.more_servers_help)
    fmt::print("more servers would bind, too, because each message costs a server the same\n");
  if (found.servers_needed > 0)
    fmt::print("from {} servers on, with equal shares and a host each, these would not bind\n",
               found.servers_needed);
  if (!found.unused_cores.empty()) fmt::print("cores: {}\n", found.unused_cores);
  fmt::print("{}: {}; no machine departs, no commits, no evaluations\n", to_text(found.certainty),
             found.origin);
}

struct PredictedJob {
  std::string name;
  priced::Prediction found;
};

PredictedJob predicted_job(const JobOptions& options, PlatformCache& platforms) {
  LoadedJob loaded = load_job(options, platforms);
  const std::string name = loaded.experiment.name, file = loaded.experiment.platform;
  const platforms::Network of_workers = tandem::network_of_workers(loaded.experiment, platforms);
  const Job job = tandem::make_job(std::move(loaded), options.out, of_workers);
  return {name, priced::predict(job, platforms.network(file, priced::hosts_of_prediction(job),
                                                       priced::hubs_of_prediction(job)))};
}

/// Speeds of a page, in samples per second.
validation::ScalingPage::Point point_of(const priced::Prediction& found) {
  const double of_round = found.samples_per_s * found.round.count();
  validation::ScalingPage::Point point{.workers = found.workers,
                                       .speed = found.samples_per_s,
                                       .slowest = found.samples_per_s * (found.round / found.slowest),
                                       .fastest = found.samples_per_s * (found.round / found.fastest)};
  using Of = priced::Limit::Of;
  for (const auto& [of, speed] : {std::pair(Of::workers, &point.by_workers),
                                  {Of::servers, &point.by_servers},
                                  {Of::network, &point.by_network}})
    for (const priced::Limit& limit : found.limits)
      // One worker has servers and network for itself.
      if (limit.of == of && !*speed && (of == Of::workers || found.workers > 1))
        *speed = of_round * limit.rounds_per_s;
  if (!found.limits.empty()) point.binds = found.limits.front().name;
  return point;
}

/// All numbers up to 16, then twice as many each time; the job's own is the last one. Numbers for which the
/// job is refused are notes.
void write_scaling(const std::string& folder, const JobOptions& options, const PredictedJob& whole,
                   PlatformCache& platforms) {
  constexpr int all_up_to = 16;
  validation::ScalingPage page{.title = whole.name, .command = command_line()};
  for (int workers = 1; workers < whole.found.workers; workers += workers < all_up_to ? 1 : workers) {
    JobOptions fewer = options;
    fewer.settings.push_back("placement.worker_count=" + std::to_string(workers));
    try {
      page.points.push_back(point_of(predicted_job(fewer, platforms).found));
    } catch (const ConfigError& error) {
      page.notes.push_back(fmt::format("{} {} left out: {}", workers,
                                       workers == 1 ? "worker is" : "workers are", error.what()));
    }
  }
  page.points.push_back(point_of(whole.found));
  if (whole.found.servers_needed > 0)
    page.advice.push_back(
        fmt::format("From {} servers on, with equal shares and a host each, the servers would not bind.",
                    whole.found.servers_needed));
  if (!whole.found.more_servers_help)
    page.advice.emplace_back("More servers would bind, too, because each message costs a server the same.");
  page.notes.push_back(fmt::format("{}: {}; no machine departs, no commits, no evaluations",
                                   to_text(whole.found.certainty), whole.found.origin));
  std::filesystem::create_directories(folder);
  validation::write_scaling_report(folder, page);
  print_note(fmt::format("speed by the number of workers in {}/report.html", folder));
}

void predict(const JobOptions& options, const std::string& report) {
  PlatformCache platforms;
  const PredictedJob whole = predicted_job(options, platforms);
  if (!report.empty()) write_scaling(report, options, whole, platforms);
  if (wants_json()) return print_document(to_json(whole.found));
  print_prediction(whole.name, whole.found);
}

}  // namespace

void add_predict(CLI::App& app, int&) {
  auto* command = app.add_subcommand(
      "predict", "How fast a job trains, in closed form: a second, whatever its length, and what limits it");
  const auto options = std::make_shared<JobOptions>();
  command->add_option("EXPERIMENT", options->experiment_file, "Experiment file (YAML)")->required();
  add_override_options(*command, *options);
  const auto report = std::make_shared<std::string>();
  command->add_option("--report", *report,
                      "Also write report.html with the speed by the number of workers up to that of the job, "
                      "report.md and report.json to this folder");
  command->footer(
      "Rounds over servers or an all-reduce, of all workers or the first k, with local steps that fill a "
      "round\n"
      "(esync), and workers that servers answer at once (asp, dc-asgd, k-batch-sync). Data in\n"
      "memory, links of the platform. `tandem simulate` has no such limits, and also shows departures, "
      "commits\n"
      "and caches.\n\n"
      "Examples:\n"
      "  tandem predict workloads/experiments/mixed_lab.yaml --variant ring\n"
      "  tandem predict workloads/experiments/mixed_lab.yaml --variant asp --json\n"
      "  tandem predict workloads/studies/cm_dare_job.yaml --variant v100-west --report speed");
  command->callback([options, report] { predict(*options, *report); });
}

}  // namespace tandem::cli
