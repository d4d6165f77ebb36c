#include "cli/jobs/priced_jobs.hpp"

#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "cli/shared/job_text.hpp"
#include "cli/shared/output.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/job/plan/job_document.hpp"
#include "workloads/priced/job_life.hpp"
#include "workloads/priced/priced_results.hpp"
#include "workloads/priced/round_times.hpp"

namespace tandem::cli {
namespace {

void check_options(const SimulateOptions& options) {
  const std::pair<const char*, bool> given[] = {
      {"--trace", options.trace},           {"--operations", options.operations},
      {"--decisions", options.decisions},   {"--requests", options.requests},
      {"--losses", options.losses},         {"--resume", !options.resume.empty()},
      {"--chakra", !options.chakra.empty()}};
  for (const auto& [name, is_given] : given)
    if (is_given)
      throw ConfigError(std::string(name) +
                        ": expected --fidelity transfers: a job in closed form has no single steps");
}

void check_stop(const Experiment::Stop& stop) {
  if (stop.seconds > Seconds(0.0)) priced::has_no_form("stop.seconds (stop.rounds has one)");
  if (stop.accuracy > 0.0) priced::has_no_form("stop.accuracy");
}

std::vector<std::string> warnings_of(const Experiment& experiment) {
  std::vector<std::string> warnings;
  if (experiment.evaluate_every > 0)
    warnings.push_back("--fidelity priced: the time of evaluations is left out (evaluate_every)");
  if (experiment.workload.math == Experiment::Workload::Math::real)
    warnings.push_back("--fidelity priced: times alone, nothing is trained (workload.math real)");
  return warnings;
}

}  // namespace

void add_fidelity_option(CLI::App& command, std::string& fidelity, const std::vector<std::string>& values) {
  std::string text = "transfers: every message simulated; priced: rounds in closed form, without messages";
  if (values.size() > 2)
    text +=
        "; smpi: the ranks' own MPI code on SimGrid's MPI, as a witness between simulation and measurement";
  command.add_option("--fidelity", fidelity, text)->capture_default_str()->check(CLI::IsMember(values));
}

Simulated simulate_priced(LoadedJob loaded, const SimulateOptions& options, const std::string& out) {
  check_options(options);
  check_stop(loaded.experiment.stop);
  PlatformCache platforms;
  const platforms::Network of_workers = tandem::network_of_workers(loaded.experiment, platforms);
  const Job job = tandem::make_job(std::move(loaded), out, of_workers);
  const Experiment& experiment = job.spec().experiment;
  const platforms::Network network = platforms.network(experiment.platform, priced::hosts_of_prediction(job),
                                                       priced::hubs_of_prediction(job));
  // Of a job whose workers change.
  std::optional<priced::RoundTimes> rounds;
  if (experiment.continuation() != Continuation::none || !experiment.placement.spares.empty())
    rounds.emplace(experiment, job.spec().platform, network, of_workers);
  const priced::Prediction found =
      rounds ? rounds->with_first(job.roster().first_workers().size()) : priced::predict(job, network);
  const auto round = [&](const std::vector<int>& slots) {
    return rounds ? rounds->with(slots).round : found.round;
  };
  const priced::JobLife lives(job, {.rounds = found.rounds,
                                    .waits_for_all = found.waits_for_all,
                                    .round = round,
                                    .work = priced::work_of_rounds(job, found)});
  const priced::Life life = lives.live(experiment.seed);
  if (!life.gave_up.empty()) throw WorldError(life.gave_up);

  const WriteLock lock = create_result_directory(out, options.force);
  if (options.keep) write_document(out + "/job.json", job);
  print_job(job);
  const sim::JobRun run{.journal = {},
                        .makespan = life.makespan,
                        .physics = priced::describe_closed_form(found, lives),
                        .warnings = warnings_of(experiment)};
  for (const auto& warning : run.warnings) print_warning(warning);
  Simulated simulated{
      .info = describe_simulation(job, run, options), .journal = life.journal, .makespan = life.makespan};
  if (life.generations.size() > 1) simulated.info.generations = life.generations;
  simulated.priced = priced::summary_of(job, simulated.info, found, lives, life);
  if (options.keep)
    priced::write_priced_results(out, simulated.info, *simulated.priced, life);
  else
    std::filesystem::remove_all(out);
  return simulated;
}

}  // namespace tandem::cli
