#include "cli/jobs/resume.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>

#include "cli/shared/output.hpp"
#include "platforms/load.hpp"
#include "policies/cache/policy.hpp"
#include "policies/sampling/sampler.hpp"
#include "policies/vocabulary/check.hpp"
#include "runtime/process/commit_memory.hpp"
#include "workloads/checkpoint/other_workers.hpp"
#include "workloads/checkpoint/restart_point.hpp"
#include "workloads/checkpoint/state_files.hpp"
#include "workloads/experiment/json_file.hpp"
#include "workloads/experiment/resolved_experiment.hpp"
#include "workloads/job/check/experiment_file.hpp"
#include "workloads/job/plan/job_document.hpp"
#include "workloads/job/plan/progress.hpp"
#include "workloads/job/plan/worker_scaling.hpp"
#include "workloads/job/plan/workers_of_generation.hpp"
#include "workloads/records/jobs_summary.hpp"
#include "workloads/records/write_lock.hpp"

namespace tandem::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// The folder itself, without a slash at its end.
fs::path folder_of(const std::string& directory) {
  std::error_code error;
  fs::path path = fs::weakly_canonical(fs::absolute(directory, error), error);
  // `error` is that of a path that cannot be followed, such as one through a file.
  if (error) path = fs::absolute(directory, error).lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

/// A result directory of several jobs, finished or not.
bool holds_several_jobs(const fs::path& folder) {
  if (fs::exists(folder / jobs_file_name)) return true;
  const fs::path document = folder / "job.json";
  return fs::exists(document) && read_json_file(document.string(), "a job document").contains("jobs");
}

void expect_one_job(const fs::path& folder) {
  // One of them is DIR/jobs/NAME.
  const fs::path list = folder.parent_path();
  if (!holds_several_jobs(folder) && !(list.filename() == "jobs" && holds_several_jobs(list.parent_path())))
    return;
  throw ConfigError(fmt::format(
      "--resume {}: expected results of a job that ran by itself, found those of several jobs (key "
      "jobs), which cannot be resumed",
      folder.string()));
}

void expect_result_directory(const fs::path& folder) {
  std::error_code unreadable;
  if (fs::is_directory(folder, unreadable)) return;
  throw ConfigError(fmt::format(
      "--resume {}: expected the result directory of an earlier job, found {}; give the folder that has "
      "its job.json, or leave out --resume to start a new one",
      folder.string(), fs::exists(folder, unreadable) ? "a file" : "none"));
}

json recorded_document(const fs::path& folder) {
  expect_result_directory(folder);
  expect_one_job(folder);
  const fs::path path = folder / "job.json";
  if (!fs::exists(path))
    throw ConfigError(fmt::format("--resume {}: expected job.json in it, found none", folder.string()));
  json document = read_json_file(path.string(), "a job document");
  try {
    document.at("experiment");
    document.at("platform");
    return document;
  } catch (const json::exception& error) {
    throw ConfigError(fmt::format("{}: not a job document: {}", path.string(), error.what()));
  }
}

/// What caches held when an epoch began is in no checkpoint, nor which samples changed places in a step.
void expect_samples_in_place(const Experiment& experiment, const std::string& path) {
  if (experiment.data.source != DataSource::storage) return;
  const ResolvedExperiment chosen(experiment);
  if (chosen.sampler->needs_cached)
    throw ConfigError(fmt::format(
        "{}: expected a job that can be resumed, found one whose sampler {} depends on what was cached when "
        "the epoch began, which checkpoints do not record",
        path, experiment.data.sampling));
  if (!chosen.cache->deals_steps) return;
  throw ConfigError(fmt::format(
      "{}: expected a job that can be resumed, found one whose cache policy {} lets samples change places in "
      "a step, which checkpoints do not record",
      path, experiment.data.cache));
}

Experiment read_experiment(const json& document, const std::string& path) {
  try {
    return experiment_from_json(document.at("experiment"));
  } catch (const ConfigError& error) {
    throw ConfigError(
        fmt::format("{}: {}; another version of Tandem wrote it and can resume it", path, error.what()));
  }
}

Experiment recorded_experiment(const json& document, const std::string& path) {
  Experiment experiment = read_experiment(document, path);
  expect_samples_in_place(experiment, path);
  return experiment;
}

/// The document as this version reads it: options that an older version did not know get their defaults.
json read_again(const fs::path& folder, json document) {
  const std::string path = (folder / "job.json").string();
  document["experiment"] = to_json(with_overrides(recorded_experiment(document, path), {}, path));
  return document;
}

/// The document without the parts that may differ in a resumed job: when it ends, the hosts of its ranks,
/// and the checkpoint from which it resumed before.
json what_must_stay(const json& job) {
  // Parsed again, to compare the values that a file would hold.
  json document = json::parse(job.dump());
  document.erase("resume");
  document.erase("generation");
  document["experiment"].erase("stop");
  document["experiment"].erase("placement");
  // It follows from the number of workers.
  if (launches_again(experiment_from_json(job.at("experiment")).continuation()))
    document["experiment"]["recovery"].erase("least");
  // It follows from the hosts.
  document.erase("all_reduce");
  return document;
}

std::size_t hosts_in(const json& job, const char* role) {
  return job.at("experiment").at("placement").at(role).size();
}

/// Each server has its part of the model.
void expect_as_many_servers(const fs::path& folder, const json& before, const json& after) {
  const std::size_t expected = hosts_in(before, "servers"), found = hosts_in(after, "servers");
  if (expected == found) return;
  throw ConfigError(
      fmt::format("--resume {}: expected {} hosts in placement.servers, as before, found {}; only the number "
                  "of workers may change",
                  folder.string(), expected, found));
}

std::string value_at(const json& document, const std::string& pointer) {
  const json::json_pointer at(pointer);
  return document.contains(at) ? document.at(at).dump() : "nothing";
}

/// Errors: ConfigError naming the first thing that differs.
void expect_same_job(const fs::path& folder, const json& recorded, const json& now) {
  const json again = read_again(folder, recorded);
  expect_as_many_servers(folder, again, now);
  const json changes = json::diff(what_must_stay(again), what_must_stay(now));
  if (changes.empty()) return;
  const std::string pointer = changes.front().at("path").get<std::string>();
  std::string key = pointer.substr(1);
  std::ranges::replace(key, '/', '.');
  if (key.starts_with("experiment.")) key = key.substr(std::string("experiment.").size());
  throw ConfigError(fmt::format(
      "--resume {}: expected the same job (only stop and placement may change), found {} {} instead of {}",
      folder.string(), key, value_at(now, pointer), value_at(again, pointer)));
}

/// A schedule that is as long as the job would change if the job became longer, or rounds larger.
void expect_same_schedule(const fs::path& folder, const json& recorded, const Job& job) {
  const Experiment& experiment = job.spec().experiment;
  const auto& optimizer = experiment.optimizer;
  if (optimizer.schedule != RateDecay::cosine || optimizer.cosine_rounds > 0) return;
  const bool same_rounds =
      experiment.stop.epochs == 0.0 || hosts_in(recorded, "workers") == job.roster().workers().size();
  if (same_rounds && recorded.at("experiment").at("stop") == to_json(experiment).at("stop")) return;
  throw ConfigError(
      fmt::format("--resume {}: expected the same {}, found another: the cosine schedule of the "
                  "learning rate is as long as the job (optimizer.cosine_rounds is 0)",
                  folder.string(), same_rounds ? "stop" : "number of workers"));
}

/// A job that was killed a moment ago may have commits in memory that are not stored yet.
void wait_for_commits_in_memory(const fs::path& folder) {
  const fs::path memory = folder / "memory";
  if (!is_saving_commits(memory)) return;
  print_note(fmt::format("waiting until the commits in memory are saved to {}", memory.string()));
  while (is_saving_commits(memory)) std::this_thread::sleep_for(std::chrono::milliseconds(100));
}

void expect_states(const fs::path& folder, const Experiment& experiment) {
  if (experiment.workload.math == Experiment::Workload::Math::modelled)
    throw ConfigError(
        fmt::format("--resume {}: expected a job with real mathematics, found workload.math modelled: there "
                    "is no model to resume from",
                    folder.string()));
  if (experiment.evaluate_every == 0 && experiment.checkpoint.policy.empty())
    throw ConfigError(
        fmt::format("--resume {}: expected a job that wrote checkpoints, found evaluate_every 0 and no "
                    "checkpoint.policy",
                    folder.string()));
}

/// Slots that never had a worker have no states.
void expect_no_spares(const fs::path& folder, const Experiment& experiment) {
  if (experiment.placement.spares.empty()) return;
  throw ConfigError(
      fmt::format("--resume {}: expected a job without placement.spares, found {}: the states of a slot that "
                  "was empty are nowhere",
                  folder.string(), fmt::join(experiment.placement.spares, ", ")));
}

/// Each has its part of the commits; or samples have changed places among the workers of a cache node. None:
/// hosts may differ.
std::optional<std::string> why_hosts_must_stay(const Job& job) {
  if (const CommitPlan& commits = job.checkpoints().commits; commits.are_on_machines())
    return fmt::format("checkpoint.to is {} and each has its part of the commits", to_text(commits.to));
  if (job.data().from_storage() && job.data().cache_factory().needs.ahead)
    return fmt::format("cache policy {} has changed the places of samples among the workers of a node",
                       job.spec().experiment.data.cache);
  return std::nullopt;
}

void expect_same_hosts(const fs::path& folder, const json& recorded, const Job& job) {
  const auto why = why_hosts_must_stay(job);
  if (!why) return;
  const json before = read_again(folder, recorded).at("experiment").at("placement");
  const json now = json::parse(to_json(job.spec().experiment).at("placement").dump());
  const json changes = json::diff(before, now);
  if (changes.empty()) return;
  const std::string pointer = changes.front().at("path").get<std::string>();
  throw ConfigError(
      fmt::format("--resume {}: expected the same hosts, because {}, found another placement at {}",
                  folder.string(), *why, pointer));
}

void print_resume_note(const Job& job, const ResumePoint& point) {
  for (const auto& reason : point.passed_over) fmt::print("note: {}\n", reason);
  fmt::print("resuming from round {} of {}\n", point.round, point.directory);
  if (job.data().from_storage())
    fmt::print("cache nodes begin {}\n", job.spec().experiment.data.keep
                                             ? "with what is left of their second tiers (data.keep)"
                                             : "with empty caches");
  const auto& algorithm = job.exchange().algorithm();
  if (!algorithm.make.timing_driven) return;
  fmt::print(
      "note: {} decides by the order of messages in time, so the continuation may differ from an "
      "uninterrupted job{}\n",
      algorithm.name,
      point.workers_continue ? "" : "; workers restart with a new step from the checkpoint's model");
}

/// Errors: ConfigError when a job of this kind cannot continue with another number of workers.
void expect_other_workers(const fs::path& folder, const Job& former, const Job& job) {
  if (const auto why = why_workers_must_stay(job))
    throw ConfigError(fmt::format("--resume {}: expected {} workers, as before, found {}: {}",
                                  folder.string(), former.roster().workers().size(),
                                  job.roster().workers().size(), *why));
}

struct FormerPoint {
  ResumePoint point;               ///< with the deals before the interrupted job dealt the samples
  std::optional<Job> former = {};  ///< the interrupted job, if it had another number of workers then
};

FormerPoint find_former_point(const fs::path& folder, const json& recorded, const Job& job,
                              std::optional<std::int64_t> round) {
  std::optional<ResumePoint> before;
  if (recorded.contains("resume")) before = resume_point_from_json(recorded.at("resume"));
  std::optional<Generation> generation;
  if (recorded.contains("generation")) generation = generation_from_json(recorded.at("generation"));
  const bool varied = generation && !generation->hosts.empty();
  const std::size_t workers = job.roster().workers().size();
  FormerPoint found;
  if (!varied && hosts_in(recorded, "workers") == workers) {
    found.point = find_resume_point(job, folder.string(), round);
    if (before) found.point.continue_after(before->deals);
    return found;
  }
  const std::string path = (folder / "job.json").string();
  Experiment experiment = with_overrides(recorded_experiment(recorded, path), {}, path);
  if (varied) experiment = with_workers_in(std::move(experiment), generation->slots);
  Job former(JobSpec{std::move(experiment), job.spec().platform, folder.string(), job.spec().data_memory},
             std::nullopt);
  if (varied) {
    if (before) former.resume_from(std::move(*before));
    former.set_generation(std::move(*generation));
    WrittenPoint written = find_resume_point_of_generations(former, folder.string(), round);
    found = {std::move(written.point), std::move(written.job)};
    if (found.former->roster().workers().size() == workers) found.former.reset();
  } else {
    expect_other_workers(folder, former, job);
    found = {find_resume_point(former, folder.string(), round), std::move(former)};
    if (before) found.point.continue_after(before->deals);
  }
  if (found.former) expect_other_workers(folder, *found.former, job);
  return found;
}

/// Number of workers to which learning rate and batch of the interrupted job refer.
int all_workers_in(const json& recorded) {
  std::optional<ResumePoint> begun;
  std::size_t workers = hosts_in(recorded, "workers");
  if (recorded.contains("resume")) begun = resume_point_from_json(recorded.at("resume"));
  if (recorded.contains("generation")) {
    const Generation generation = generation_from_json(recorded.at("generation"));
    if (generation.origin) begun = generation.origin;
    if (!generation.hosts.empty()) workers = generation.hosts.size();
  }
  return begun && begun->all_workers > 0 ? begun->all_workers : static_cast<int>(workers);
}

/// What follows from recovery.scale_rate and recovery.batch.
void print_scaling_note(const Job& job) {
  const auto& recovery = job.spec().experiment.recovery;
  if (job.resume()->all_workers == 0) return;
  if (recovery.scale_rate != RateScale::keep)
    fmt::print("note: the learning rate is that of {} workers times {:.4g} (recovery.scale_rate)\n",
               job.all_workers(), rate_factor_of(job));
  if (recovery.batch != BatchRule::keep)
    fmt::print("note: the workers share the batches of {} (recovery.batch)\n", job.all_workers());
}

void print_workers_note(const Job& job, const Job& former) {
  std::string dropped;
  for (const auto& what : dropped_with_workers(job, former)) dropped += (dropped.empty() ? "" : ", ") + what;
  fmt::print(
      "note: {} workers instead of {}: the model and the states that all workers have in common are kept; "
      "dropped: "
      "{}\n",
      job.roster().workers().size(), former.roster().workers().size(), dropped);
  const auto left = job.data().deals().left_of_epoch();
  fmt::print(
      "note: the {} samples that are left of epoch {} are dealt again, so that none is taken twice in the "
      "epoch\n",
      left.samples, left.epoch);
}

bool changes_placement(const Overrides& overrides) {
  return std::ranges::any_of(overrides, [](const auto& set) { return set.first.starts_with("placement"); });
}

/// A list of workers replaces the recorded one and its length.
void count_listed_workers(Overrides& overrides) {
  const auto names = [&](const char* key) {
    return std::ranges::any_of(overrides, [&](const auto& set) { return set.first == key; });
  };
  if (names("placement.workers") && !names("placement.worker_count"))
    overrides.emplace_back("placement.worker_count", "0");
}

}  // namespace

void add_resume_options(CLI::App& command, JobOptions& options) {
  command.get_option("EXPERIMENT")->required(false);
  auto* resume =
      command
          .add_option("--resume", options.resume,
                      "Resume the job of this result directory from its latest complete checkpoint; of its "
                      "experiment only stop and placement may be changed (--set stop.rounds=N, --set "
                      "placement.worker_count=N)")
          ->type_name("DIR");
  command
      .add_option("--resume-from", options.resume_from, "Resume from the checkpoint of this round instead")
      ->needs(resume)
      ->check(CLI::NonNegativeNumber);
}

LoadedExperiment load_or_resumed(const JobOptions& options) {
  const bool resumes = !options.resume.empty();
  if (!options.experiment_file.empty()) return resumes ? load_job(options) : load_jobs(options);
  if (!resumes) throw ConfigError("expected an experiment file, or --resume DIR, found neither");
  if (!options.variant.empty())
    throw ConfigError("--variant: expected an experiment file that defines it, found only --resume");
  const fs::path folder = folder_of(options.resume);
  const json document = recorded_document(folder);
  Overrides overrides;
  for (const auto& setting : options.settings) overrides.push_back(parse_override(setting));
  count_listed_workers(overrides);
  const std::string path = (folder / "job.json").string();
  Experiment experiment = with_overrides(recorded_experiment(document, path), overrides, path);
  platforms::Description platform = platforms::load_platform(experiment.platform);
  const bool waits_for_all = experiment.recovery.least == static_cast<int>(hosts_in(document, "workers"));
  if (changes_placement(overrides))
    resolve_placement(experiment, platform, [&](const std::string& key) {
      return Origin{"--set", key, key != "recovery.least" || !waits_for_all};
    });
  return LoadedJob{std::move(experiment), std::move(platform)};
}

std::string result_directory_of(const JobOptions& options, const Experiment& experiment,
                                const std::string& world) {
  if (options.resume.empty()) return options.out.empty() ? default_out(experiment.name, world) : options.out;
  const fs::path folder = folder_of(options.resume);
  if (options.out.empty()) return folder.string() + "-resumed";
  const fs::path out = folder_of(options.out);
  if (const auto way = folder.lexically_relative(out); !way.empty() && *way.begin() != "..")
    throw ConfigError(fmt::format(
        "--out {}: expected a directory outside that of --resume, found one that contains it", options.out));
  return options.out;
}

void resume_if_asked(Job& job, const JobOptions& options) {
  if (options.resume.empty()) return;
  const fs::path folder = folder_of(options.resume);
  expect_result_directory(folder);
  wait_for_commits_in_memory(folder);
  expect_not_written(folder.string());
  const json recorded = recorded_document(folder);
  expect_same_job(folder, recorded, job_document(job));
  expect_states(folder, job.spec().experiment);
  expect_no_spares(folder, job.spec().experiment);
  expect_same_hosts(folder, recorded, job);
  expect_same_schedule(folder, recorded, job);
  auto [point, former] = find_former_point(folder, recorded, job, options.resume_from);
  if (former) {
    auto deals = std::move(point.deals);
    point = for_other_workers(std::move(point), *former, job, std::move(deals));
  }
  const int all = all_workers_in(recorded), now = static_cast<int>(job.roster().workers().size());
  point.all_workers = launches_again(job.spec().experiment.continuation()) && all != now ? all : 0;
  const Progress progress = progress_at(job, point);
  if (job.stop().is_reached(progress))
    throw ConfigError(fmt::format(
        "--resume {}: already finished at round {} with {} samples; extend it with a later stop, for "
        "example --set stop.rounds=N",
        folder.string(), point.round, progress.samples));
  print_resume_note(job, point);
  job.resume_from(std::move(point));
  if (former) print_workers_note(job, *former);
  print_scaling_note(job);
}

}  // namespace tandem::cli
