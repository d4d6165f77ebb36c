#include "cli/simulated_generations.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>
#include <vector>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "cli/subcommand_process.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/checkpoint/restart_point.hpp"
#include "workloads/checkpoint/state_files.hpp"
#include "workloads/records/journal_bytes.hpp"

namespace tandem::cli {
namespace {

using nlohmann::json;

/// A line of JSON, then the journal.
void write_run(const std::string& path, const json& figures, const Journal& journal) {
  const auto bytes = to_bytes(journal);
  std::ofstream file(path, std::ios::binary);
  file << figures.dump() << '\n';
  file.write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
  if (!file.flush()) throw WorldError("cannot write " + path);
}

struct WrittenRun {
  json figures;
  Journal journal;
};

WrittenRun read_run(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string line;
  std::getline(file, line);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  return {json::parse(line), journal_from_bytes(std::as_bytes(std::span(bytes)))};
}

/// Between the launch of a generation and its time zero.
Seconds launch_time_of(const Job& job) {
  const Seconds given = job.spec().experiment.recovery.launch;
  const Profile* profile = job.devices().profile();
  return given > Seconds(0) || profile == nullptr ? given : Seconds(profile->launch_s);
}

}  // namespace

SimulatedGenerations::SimulatedGenerations(Job& job, std::string out, Simulate simulate)
    : job_(job),
      out_(std::move(out)),
      simulate_(std::move(simulate)),
      steward_(make_restart_steward(job)),
      bar_("simulate " + job.spec().experiment.name),
      launch_time_(launch_time_of(job)) {}

GenerationResult SimulatedGenerations::launch() {
  Generation generation = *job_.generation();
  generation.launched = launched_;
  generation.began = began_;
  add_machines(generation, steward_);
  job_.set_generation(generation);
  const auto& end = steward_.end_of_generation();
  if (end && end->at < began_) return ended(0);
  write_start(out_, generation.number(), began_.count());
  std::optional<Seconds> until;
  if (end) until = end->at - began_;
  simulate_apart(until);

  WrittenRun written = read_run(file());
  std::filesystem::remove(file());
  const json& figures = written.figures;
  if (figures.at("is_cut").get<bool>()) {
    point_.reset();
    if (const json& point = figures.at("point"); !point.is_null()) point_ = resume_point_from_json(point);
    if (point_) bar_.update(job_.stop().fraction_done(progress_at(job_, *point_)));
    return ended(figures.at("lost_samples").get<std::int64_t>());
  }
  run_ = {.journal = std::move(written.journal),
          .makespan = Seconds(figures.at("makespan_s").get<double>()),
          .physics = figures.at("physics"),
          .warnings = figures.at("warnings").get<std::vector<std::string>>()};
  return {};
}

GenerationResult SimulatedGenerations::ended(std::int64_t lost_samples) const {
  GenerationResult result;
  result.exit_code = exit_environment_error;
  result.drawn = steward_.end_of_generation();
  result.message = describe(*result.drawn);
  result.lost_samples = lost_samples;
  return result;
}

void SimulatedGenerations::simulate_apart(std::optional<Seconds> until) const {
  const std::string log = out_ + "/generation.log";
  std::exception_ptr failure;
  ProcessQueue queue{.count = 1, .start = {}, .ended = {}};
  queue.start = [&](std::size_t, const sigset_t& blocked_signals) {
    const Descriptor output = create_file(log);
    return start_function([&] { return simulate_here(until); },
                          {.output = output.number(), .own_group = true, .blocked_signals = blocked_signals});
  };
  queue.ended = [&](std::size_t, const ExitStatus& status, std::exception_ptr error) {
    const std::string what = fmt::format("generation {}", job_.generation()->number());
    failure = error ? std::move(error) : error_of(what, log, status);
  };
  run_processes(queue, 1);
  std::filesystem::remove(log);
  if (failure) std::rethrow_exception(failure);
}

/// In a copy of this process, which also looks for the point of restart: libtorch must not be used before a
/// process is copied. Returns the exit code.
int SimulatedGenerations::simulate_here(std::optional<Seconds> until) const {
  begin_output({});
  const int code = exit_code_of([&] {
    const sim::JobRun run = simulate_(until);
    json figures = {{"is_cut", run.is_cut},
                    {"makespan_s", run.makespan.count()},
                    {"physics", run.physics},
                    {"warnings", run.warnings}};
    if (run.is_cut) {
      const auto point = find_restart_point(job_);
      figures["point"] = point ? to_json(*point) : json();
      figures["lost_samples"] = samples_after(job_, point, run.journal);
    }
    write_run(file(), figures, run.is_cut ? Journal() : run.journal);
    return exit_success;
  });
  std::fflush(stdout);
  std::fflush(stderr);
  return code;
}

std::optional<int> SimulatedGenerations::wait(const GenerationResult&, Seconds) {
  launched_ = steward_.begin_next();
  began_ = launched_ + launch_time_;
  return std::nullopt;
}

}  // namespace tandem::cli
