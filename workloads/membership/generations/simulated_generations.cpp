#include "workloads/membership/generations/simulated_generations.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/stream_text.hpp"
#include "workloads/checkpoint/restart_point.hpp"
#include "workloads/checkpoint/state_files.hpp"
#include "workloads/membership/generations/drawn_machines.hpp"
#include "workloads/records/journal_bytes.hpp"

namespace tandem {
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
  const std::string bytes = rest_of(file);
  return {json::parse(line), journal_from_bytes(std::as_bytes(std::span(bytes)))};
}

std::optional<ResumePoint> point_in(const json& figures, const char* name = "point") {
  const json& point = figures.at(name);
  return point.is_null() ? std::nullopt : std::optional(resume_point_from_json(point));
}

}  // namespace

Seconds launch_time_of(const Job& job) {
  const Seconds given = job.spec().experiment.recovery.launch;
  const Profile* profile = job.devices().profile();
  return given > Seconds(0) || profile == nullptr ? given : Seconds(profile->launch_s);
}

SimulatedGenerations::SimulatedGenerations(Job& job, std::string out, GenerationSimulator simulator)
    : job_(job),
      out_(std::move(out)),
      simulator_(std::move(simulator)),
      steward_(make_restart_steward(job)),
      launch_time_(launch_time_of(job)) {}

GenerationResult SimulatedGenerations::launch() {
  Generation generation = *job_.generation();
  generation.launched = launched_;
  generation.began = began_;
  add_machines(generation, steward_);
  job_.set_generation(generation);
  const auto& end = steward_.end_of_generation();
  if (end && end->at < began_) {
    cut_ = {};
    has_lost_more_ = end->how && lose_machines(job_, {end->slot});
    return ended(0);
  }
  write_start(out_, generation.number(), began_.count());
  std::optional<Seconds> until;
  if (end) until = end->at - began_;
  run_apart([&] { simulate_here(until); });

  WrittenRun written = read_run(file());
  std::filesystem::remove(file());
  const json& figures = written.figures;
  if (figures.at("is_cut").get<bool>()) {
    point_ = point_in(figures);
    cut_ = std::move(written.journal);
    if (point_) simulator_.progress(job_.stop().fraction_done(progress_at(job_, *point_)));
    GenerationResult result = ended(figures.at("lost_samples").get<std::int64_t>());
    result.note_loss(point_in(figures, "point_before"), point_);
    return result;
  }
  run_ = {.journal = std::move(written.journal),
          .makespan = Seconds(figures.at("makespan_s").get<double>()),
          .physics = figures.at("physics"),
          .warnings = figures.at("warnings").get<std::vector<std::string>>()};
  return {};
}

GenerationResult SimulatedGenerations::ended(std::int64_t lost_samples) const {
  GenerationResult result;
  result.end = GenerationResult::End::environment_error;
  result.drawn = steward_.end_of_generation();
  result.message = describe(*result.drawn);
  result.lost_samples = lost_samples;
  return result;
}

/// Returns when it has ended: libtorch must not be used before a process is copied.
void SimulatedGenerations::run_apart(const std::function<void()>& body) const {
  simulator_.apart(body, fmt::format("generation {}", job_.generation()->number()));
}

/// The point from which the job starts again after a generation that was cut, and the repeated work.
json SimulatedGenerations::describe_point(const Journal& cut) const {
  const auto point = find_restart_point(job_);
  return {{"point", point ? to_json(*point) : json()}, {"lost_samples", samples_after(job_, point, cut)}};
}

/// Also looks for the point of restart.
void SimulatedGenerations::simulate_here(std::optional<Seconds> until) const {
  const SimulatedRun run = simulator_.simulate(until);
  json figures = {{"is_cut", run.is_cut},
                  {"makespan_s", run.makespan.count()},
                  {"physics", run.physics},
                  {"warnings", run.warnings}};
  const bool may_lose_more = job_.checkpoints().commits.are_on_machines();
  if (run.is_cut) {
    const auto before = may_lose_more ? find_restart_point(job_) : std::nullopt;
    if (const auto& end = *steward_.end_of_generation(); end.how) lose_machines(job_, {end.slot});
    figures.update(describe_point(run.journal));
    figures["point_before"] = before ? to_json(*before) : json();
  }
  write_run(file(), figures, run.is_cut && !may_lose_more ? Journal() : run.journal);
}

std::optional<ResumePoint> SimulatedGenerations::restart_point(GenerationResult& result) {
  if (!std::exchange(has_lost_more_, false)) return point_;
  run_apart([this] { write_run(file(), describe_point(cut_), {}); });
  const json figures = read_run(file()).figures;
  std::filesystem::remove(file());
  const auto before = std::exchange(point_, point_in(figures));
  result.note_loss(before, point_);
  result.lost_samples = figures.at("lost_samples").get<std::int64_t>();
  return point_;
}

void SimulatedGenerations::write_membership(bool as_drawn) {
  const auto until = as_drawn ? std::nullopt : std::optional(began_);
  if (const auto problem = write_known_membership(out_, steward_, until); !problem.empty())
    simulator_.notify(problem);
}

Seconds SimulatedGenerations::decide_next(const GenerationResult&, Seconds) {
  launched_ = steward_.begin_next();
  has_lost_more_ = lose_machines(job_, steward_.departed_meanwhile());
  began_ = launched_ + launch_time_;
  return Seconds(0);
}

}  // namespace tandem
