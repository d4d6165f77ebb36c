#include "cli/resume.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "platforms/load.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/checkpoint/state_files.hpp"
#include "workloads/job/experiment_file.hpp"
#include "workloads/job/job_document.hpp"
#include "workloads/job/progress.hpp"

namespace tandem::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// The folder itself, without a slash at its end.
fs::path folder_of(const std::string& directory) {
  const fs::path path = fs::weakly_canonical(fs::absolute(directory));
  return path.has_filename() ? path : path.parent_path();
}

json recorded_document(const fs::path& folder) {
  if (!fs::is_directory(folder))
    throw ConfigError(fmt::format("--resume {}: expected a result directory, found none", folder.string()));
  const fs::path path = folder / "job.json";
  std::ifstream file(path);
  if (!file)
    throw ConfigError(fmt::format("--resume {}: expected job.json in it, found none", folder.string()));
  try {
    json document = json::parse(file);
    document.at("experiment");
    document.at("platform");
    return document;
  } catch (const json::exception& error) {
    throw ConfigError(fmt::format("{}: not a job document: {}", path.string(), error.what()));
  }
}

Experiment recorded_experiment(const json& document, const std::string& path) {
  try {
    return experiment_from_json(document.at("experiment"));
  } catch (const ConfigError& error) {
    throw ConfigError(
        fmt::format("{}: {}; another version of Tandem wrote it, and can go on with it", path, error.what()));
  }
}

/// As this version reads it: an option that another one did not know has its default.
json read_again(const fs::path& folder, json document) {
  const std::string path = (folder / "job.json").string();
  document["experiment"] = to_json(with_overrides(recorded_experiment(document, path), {}, path));
  return document;
}

/// What may differ when a job goes on: when it ends, and from where it went on before.
json what_must_stay(const json& job) {
  // As it reads back from a file.
  json document = json::parse(job.dump());
  document.erase("resume");
  document["experiment"].erase("stop");
  return document;
}

std::string value_at(const json& document, const std::string& pointer) {
  const json::json_pointer at(pointer);
  return document.contains(at) ? document.at(at).dump() : "nothing";
}

/// Errors: ConfigError naming the first thing that differs.
void expect_same_job(const fs::path& folder, const json& recorded, const json& now) {
  const json before = what_must_stay(read_again(folder, recorded)), after = what_must_stay(now);
  const json changes = json::diff(before, after);
  if (changes.empty()) return;
  const std::string pointer = changes.front().at("path").get<std::string>();
  std::string key = pointer.substr(1);
  std::ranges::replace(key, '/', '.');
  if (key.starts_with("experiment.")) key = key.substr(std::string("experiment.").size());
  throw ConfigError(
      fmt::format("--resume {}: expected its own job (only stop may change), found {} {} in place of {}",
                  folder.string(), key, value_at(after, pointer), value_at(before, pointer)));
}

/// A schedule as long as the job would be another one in a longer job.
void expect_same_schedule(const fs::path& folder, const json& recorded, const Experiment& experiment) {
  const auto& optimizer = experiment.optimizer;
  if (optimizer.schedule != RateDecay::cosine || optimizer.cosine_rounds > 0) return;
  if (recorded.at("experiment").at("stop") == to_json(experiment).at("stop")) return;
  throw ConfigError(fmt::format(
      "--resume {}: expected the same stop, because the cosine of the learning rate is as long as the job "
      "(optimizer.cosine_rounds is 0), found another",
      folder.string()));
}

void expect_states(const fs::path& folder, const Experiment& experiment) {
  if (experiment.workload.math == Experiment::Workload::Math::modelled)
    throw ConfigError(fmt::format(
        "--resume {}: expected a job of real mathematics, found workload.math modelled: there is no model to "
        "go on with",
        folder.string()));
  if (experiment.evaluate_every == 0)
    throw ConfigError(fmt::format(
        "--resume {}: expected a job that wrote checkpoints, found evaluate_every 0", folder.string()));
}

void tell(const Job& job, const ResumePoint& point) {
  fmt::print("resume: goes on after round {} of {}\n", point.round, point.directory);
  const auto& algorithm = job.exchange().algorithm();
  if (!algorithm.make.timing_driven) return;
  fmt::print(
      "resume: {} decides by the order of time, so what follows may differ from the job without a break{}\n",
      algorithm.name,
      point.workers_continue ? "" : "; workers take a fresh step from the checkpoint's model");
}

}  // namespace

void add_resume_options(CLI::App& command, JobOptions& options) {
  command.get_option("EXPERIMENT")->required(false);
  auto* resume =
      command
          .add_option("--resume", options.resume,
                      "Go on with the job of this result directory from its newest whole checkpoint; of its "
                      "experiment only stop may be changed (--set stop.rounds=N)")
          ->type_name("DIR");
  command.add_option("--resume-from", options.resume_from, "The round of the checkpoint to go on from")
      ->needs(resume)
      ->check(CLI::NonNegativeNumber);
}

LoadedJob load_job_or_resumed(const JobOptions& options) {
  if (!options.experiment_file.empty()) return load_job(options);
  if (options.resume.empty())
    throw ConfigError("expected an experiment file, or --resume DIR, found neither");
  if (!options.variant.empty())
    throw ConfigError("--variant: expected an experiment file to take it from, found --resume alone");
  const fs::path folder = folder_of(options.resume);
  const json document = recorded_document(folder);
  Overrides overrides;
  for (const auto& setting : options.settings) overrides.push_back(parse_override(setting));
  const std::string path = (folder / "job.json").string();
  Experiment experiment = with_overrides(recorded_experiment(document, path), overrides, path);
  platforms::Description platform = platforms::load_platform(experiment.platform);
  return {std::move(experiment), std::move(platform)};
}

std::string result_directory_of(const JobOptions& options, const Experiment& experiment,
                                const std::string& world) {
  if (options.resume.empty()) return options.out.empty() ? default_out(experiment, world) : options.out;
  const fs::path folder = folder_of(options.resume);
  if (options.out.empty()) return folder.string() + "-resumed";
  const fs::path out = folder_of(options.out);
  if (const auto way = folder.lexically_relative(out); !way.empty() && *way.begin() != "..")
    throw ConfigError(fmt::format(
        "--out {}: expected a directory beside the one of --resume, found one that holds it", options.out));
  return options.out;
}

void resume_if_asked(Job& job, const JobOptions& options) {
  if (options.resume.empty()) return;
  const fs::path folder = folder_of(options.resume);
  const json recorded = recorded_document(folder);
  expect_same_job(folder, recorded, job_document(job));
  expect_states(folder, job.spec().experiment);
  expect_same_schedule(folder, recorded, job.spec().experiment);
  ResumePoint point = find_resume_point(job, folder.string(), options.resume_from);
  const Progress progress = progress_at(job, point);
  if (job.stop().is_reached(progress))
    throw ConfigError(
        fmt::format("--resume {}: its job has ended by round {}, with {} samples; --set stop.rounds=N, for "
                    "example, lets it "
                    "go on",
                    folder.string(), point.round, progress.samples));
  tell(job, point);
  job.resume_from(std::move(point));
}

void write_document(const std::string& out, const Job& job) {
  std::ofstream file(out + "/job.json");
  file << job_document(job).dump(1) << '\n';
  if (!file.flush()) throw WorldError("cannot write " + out + "/job.json");
}

}  // namespace tandem::cli
